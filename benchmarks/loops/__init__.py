"""VGG16 training loops as a user of each framework writes them, without assay."""

# Filters of the convolutions; 0 is a pooling.
PLAN = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)
