# The public names, grouped. The package loads each from its module when it is first used.
# isort: off

# Data
from .data.episodes import Episode as Episode
from .data.episodes import Episodes as Episodes
from .data.signals import Signals as Signals
from .data.columns import Columns as Columns
from .data.dataset_files import read_dataset as read_dataset
from .data.dataset_files import write_dataset as write_dataset
from .data.dataset_files import load_dataset as load_dataset
from .data.summary import describe as describe
from .plotting.datasets import plot_datasets as plot_datasets

# Models
from .training.config import FitConfig as FitConfig
from .training.fit import fit as fit
from .training.weights import decay as decay
from .models.model import Model as Model
from .models.model import load_model as load_model
from .evaluation.evaluation import evaluate as evaluate

# Agents in the model
from .model_env.model_env import ModelEnv as ModelEnv
from .model_env.config import ModelEnvConfig as ModelEnvConfig
from .agents.config import AgentConfig as AgentConfig
from .agents.train_agent import train_agent as train_agent
from .systems.network_policy import load_policy as load_policy

# Real systems
from .systems.system import System as System
from .systems.registry import get_system as get_system
from .systems.collect import collect as collect

# From data to a result
from .workflows.offline import offline as offline
from .workflows.iterate import iterate as iterate
from .workflows.tune import tune as tune

# Errors and warnings
from .errors import DataWarning as DataWarning
from .errors import FarstepError as FarstepError

__all__: list[str]
__version__: str
