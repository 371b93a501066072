# Written by pytest --update-golden tests/engine/test_public_names.py
from studio.engine.layers.activation_layers import Activation
from studio.engine.layers.activation_layers import ReLU
from studio.engine.layers.activation_layers import Softmax
from studio.engine.layers.convolution import Conv2D
from studio.engine.layers.convolution import DepthwiseConv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.dropout import Dropout
from studio.engine.layers.layer import Layer
from studio.engine.layers.masking import Masking
from studio.engine.layers.merging import Add
from studio.engine.layers.merging import Concatenate
from studio.engine.layers.merging import Multiply
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.operator import Operator
from studio.engine.layers.pooling import AveragePooling2D
from studio.engine.layers.pooling import GlobalAveragePooling2D
from studio.engine.layers.pooling import MaxPooling2D
from studio.engine.layers.rescaling import Rescaling
from studio.engine.layers.shaping import Flatten
from studio.engine.layers.shaping import Reshape
from studio.engine.layers.shaping import ZeroPadding2D
from studio.engine.layers.symbol import input_symbol as Input
from studio.engine.layers.tied_dense import TiedDense
from studio.engine.optim.auc import AUC
from studio.engine.optim.intersection import BinaryIoU
from studio.engine.optim.intersection import MeanIoU
from studio.engine.optim.losses import BinaryCrossentropy
from studio.engine.optim.losses import CategoricalCrossentropy
from studio.engine.optim.losses import Loss
from studio.engine.optim.losses import MeanAbsoluteError
from studio.engine.optim.losses import MeanSquaredError
from studio.engine.optim.losses import SparseCategoricalCrossentropy
from studio.engine.optim.metrics import Accuracy
from studio.engine.optim.metrics import BinaryAccuracy
from studio.engine.optim.metrics import CategoricalAccuracy
from studio.engine.optim.metrics import Metric
from studio.engine.optim.metrics import SparseCategoricalAccuracy
from studio.engine.optim.optimizers import Adadelta
from studio.engine.optim.optimizers import Adagrad
from studio.engine.optim.optimizers import Adam
from studio.engine.optim.optimizers import AdamW
from studio.engine.optim.optimizers import Adamax
from studio.engine.optim.optimizers import Optimizer
from studio.engine.optim.optimizers import RMSprop
from studio.engine.optim.optimizers import SGD
from studio.engine.optim.precision_recall import F1Score
from studio.engine.optim.precision_recall import Precision
from studio.engine.optim.precision_recall import Recall
from studio.engine.optim.r2_score import R2Score
from studio.engine.optim.schedules import Constant
from studio.engine.optim.schedules import CosineDecay
from studio.engine.optim.schedules import CosineDecayRestarts
from studio.engine.optim.schedules import ExponentialDecay
from studio.engine.optim.schedules import InverseTimeDecay
from studio.engine.optim.schedules import PiecewiseConstantDecay
from studio.engine.optim.schedules import PolynomialDecay
from studio.engine.optim.schedules import Schedule
from studio.engine.optim.schedules import StepDecay
from studio.engine.optim.schedules import WarmUp
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.callbacks.callback import ProjectCallback
from studio.engine.train.callbacks.csv_logger import CSVLogger
from studio.engine.train.callbacks.early_stopping import EarlyStopping
from studio.engine.train.callbacks.epoch_lines import EpochLines
from studio.engine.train.callbacks.history import History
from studio.engine.train.callbacks.learning_rate import LearningRateScheduler
from studio.engine.train.callbacks.learning_rate import ReduceLROnPlateau
from studio.engine.train.callbacks.model_checkpoint import ModelCheckpoint
from studio.engine.train.data.builtin import circles
from studio.engine.train.data.builtin import load_digits
from studio.engine.train.data.builtin import load_iris
from studio.engine.train.data.builtin import moons
from studio.engine.train.data.builtin import spirals
from studio.engine.train.data.padding import pad_to_lengths
from studio.engine.train.devices import open_backend
from studio.engine.train.export.exporting import export_all
from studio.engine.train.export.exporting import export_file
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.model.import_model import import_model
from studio.engine.train.model.model import Model
from studio.engine.train.model.sequential import Sequential
from studio.engine.train.network.execute import execute
from studio.engine.train.network.execute import execute_all
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder

__all__ = [
    "AUC",
    "Accuracy",
    "Activation",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Add",
    "AveragePooling2D",
    "BatchNormalization",
    "BinaryAccuracy",
    "BinaryCrossentropy",
    "BinaryIoU",
    "CSVLogger",
    "Callback",
    "CategoricalAccuracy",
    "CategoricalCrossentropy",
    "Concatenate",
    "Constant",
    "Conv2D",
    "CosineDecay",
    "CosineDecayRestarts",
    "Dense",
    "DepthwiseConv2D",
    "Dropout",
    "EarlyStopping",
    "EpochLines",
    "ExponentialDecay",
    "F1Score",
    "Flatten",
    "GlobalAveragePooling2D",
    "History",
    "Input",
    "InverseTimeDecay",
    "Layer",
    "LearningRateScheduler",
    "Loss",
    "Masking",
    "MaxPooling2D",
    "MeanAbsoluteError",
    "MeanIoU",
    "MeanSquaredError",
    "Metric",
    "Model",
    "ModelCheckpoint",
    "Multiply",
    "Operator",
    "Optimizer",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
    "Precision",
    "Project",
    "ProjectCallback",
    "R2Score",
    "RMSprop",
    "ReLU",
    "Recall",
    "ReduceLROnPlateau",
    "Rescaling",
    "Reshape",
    "RunFolder",
    "SGD",
    "Schedule",
    "Sequential",
    "Softmax",
    "SparseCategoricalAccuracy",
    "SparseCategoricalCrossentropy",
    "StepDecay",
    "Task",
    "TiedDense",
    "Trained",
    "Trainer",
    "WarmUp",
    "ZeroPadding2D",
    "circles",
    "execute",
    "execute_all",
    "export_all",
    "export_file",
    "import_model",
    "load_digits",
    "load_iris",
    "moons",
    "open_backend",
    "pad_to_lengths",
    "spirals",
]
