"""Updates per second of mbrl-lib's one-step trainer, in an environment that has `mbrl`."""

import time

import mbrl.models
import mbrl.util.common
import mbrl.util.replay_buffer
import numpy as np
import omegaconf
import torch

D, K, WIDTH, BATCH, ROWS, EPOCHS = 5, 1, 256, 64, 12_800, 4


def main() -> None:
    """Print the rate."""
    torch.set_num_threads(1)
    tanh = omegaconf.OmegaConf.create({"_target_": "torch.nn.Tanh"})
    network = mbrl.models.GaussianMLP(
        D + K, D, "cpu", num_layers=2, ensemble_size=1, hid_size=WIDTH, activation_fn_cfg=tanh
    )
    model = mbrl.models.OneDTransitionRewardModel(
        network, target_is_delta=True, normalize=True, learned_rewards=False
    )
    rng = np.random.default_rng(0)
    buffer = mbrl.util.replay_buffer.ReplayBuffer(ROWS, (D,), (K,))
    for _ in range(ROWS):
        buffer.add(rng.normal(size=D), rng.normal(size=K), rng.normal(size=D), 0.0, False, False)
    model.update_normalizer(buffer.get_all())
    batches, _ = mbrl.util.common.get_basic_buffer_iterators(
        buffer, BATCH, 0.0, ensemble_size=1, shuffle_each_epoch=True
    )
    trainer = mbrl.models.ModelTrainer(model, optim_lr=1e-3)
    trainer.train(batches, num_epochs=1, evaluate=False)
    start = time.perf_counter()
    trainer.train(batches, num_epochs=EPOCHS, evaluate=False)
    print(EPOCHS * ROWS / BATCH / (time.perf_counter() - start))


main()
