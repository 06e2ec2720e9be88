# The public names, grouped. The package loads each from its module when it is first used.

# Agents
from .agents.train import train as train

# Data
from .datasets.columns import Columns as Columns
from .datasets.reading import read as read
from .datasets.reading import write as write
from .datasets.shipped import load as load
from .datasets.summary import Summary as Summary
from .datasets.summary import describe as describe
from .episodes import Episode as Episode
from .episodes import Episodes as Episodes

# What is said when something is wrong
from .errors import DataWarning as DataWarning
from .errors import FarstepError as FarstepError

# Models
from .evaluation.evaluate import Evaluation as Evaluation
from .evaluation.evaluate import score as score
from .fitting.fit import fit as fit
from .imagination.imagine import imagine as imagine
from .loops.iterate import iterate as iterate
from .loops.offline import offline as offline
from .model import Model as Model
from .model import load_model as load_model
from .policy import load_policy as load_policy
from .report.datasets import plot_datasets as plot_datasets
from .signals import Signals as Signals

# Systems
from .systems.collect import collect as collect
from .systems.registry import system as system
from .systems.system import System as System
from .weights import decay as decay
from .weights import learned as learned
from .weights import proportional as proportional
from .weights import uniform as uniform
from .windows import Windows as Windows

__all__: list[str]
__version__: str
