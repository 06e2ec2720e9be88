# The public names, grouped. The package loads each from its module when it is first used.
# isort: off

# Data
from .episodes import Episode as Episode
from .episodes import Episodes as Episodes
from .signals import Signals as Signals
from .datasets.columns import Columns as Columns
from .datasets.reading import read as read
from .datasets.reading import write as write
from .datasets.shipped import load as load
from .datasets.summary import describe as describe
from .report.datasets import plot_datasets as plot_datasets

# Models
from .fitting.fit import fit as fit
from .tuning import tune as tune
from .weights import decay as decay
from .model import Model as Model
from .model import load_model as load_model
from .evaluation.evaluate import score as score

# Agents
from .imagination.imagine import imagine as imagine
from .agents.train import train as train
from .loops.offline import offline as offline
from .loops.iterate import iterate as iterate
from .policy import load_policy as load_policy

# Systems
from .systems.system import System as System
from .systems.registry import system as system
from .systems.collect import collect as collect

# The paper again
from .exhibits.reproduce import reproduce as reproduce

# What is said when something is wrong
from .errors import DataWarning as DataWarning
from .errors import FarstepError as FarstepError

__all__: list[str]
__version__: str
