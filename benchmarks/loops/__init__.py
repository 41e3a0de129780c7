"""Loops as a user of each framework writes them, without assay: a file a framework and network."""

# Filters of VGG16's convolutions; 0 is a pooling.
PLAN = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)
# ResNet50: filters of the narrow part, blocks, and stride of the first.
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
