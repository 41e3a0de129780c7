"""Bare torch models, as users have them."""

import torch
from torch import nn
from torch.nn import functional


class Pictures(nn.Module):
    """Its example is an array."""

    def __init__(self, filters=4):
        super().__init__()
        self.conv = nn.Conv2d(3, filters, 3)
        self.head = nn.Linear(filters, 5)

    def forward(self, x):
        return self.head(self.conv(x).mean((2, 3)))


Pictures.example = torch.rand(2, 3, 8, 8)


class Tokens(nn.Module):
    """Its example is a function, its inputs have names, its outputs are several."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 8)
        self.head = nn.Linear(8, 50)

    def forward(self, ids, scale):
        return {"logits": self.head(self.table(ids)) * scale[..., None], "counts": (ids.sum(),)}

    @staticmethod
    def example(batch_size):
        return {"ids": torch.randint(0, 50, (batch_size, 7)), "scale": torch.ones(batch_size, 1)}

    def loss(self, outputs, inputs):
        return functional.cross_entropy(outputs["logits"].flatten(0, 1), inputs["ids"].flatten())


class Labelled(Pictures):
    """A loss of outputs and targets."""

    example = torch.rand(2, 3, 8, 8)
    targets = torch.tensor([1, 2])
    loss = functional.cross_entropy


class MLP(nn.Module):
    """A chain whose first layer says what it takes."""

    def __init__(self, units=6):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(12, units), nn.ReLU(), nn.Linear(units, 3))

    def forward(self, x):
        return self.net(x)


class Without(nn.Module):
    """Nothing says how large its images are."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.conv(x)


class Unfit(Without):
    example = torch.rand(2, 5, 8, 8)


class Worded(Without):
    example = "two pictures"


class Needy(nn.Module):
    def __init__(self, units):
        super().__init__()


def softmax(x, y):
    return torch.softmax(x @ y, -1)


softmax.example = (torch.rand(4, 8), torch.rand(8, 8))
