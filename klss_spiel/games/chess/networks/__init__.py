"""Neural networks that evaluate positions of 8x8 chess: the package's own, and files of users.

    network, network_kernels    the package's own small network
    training, training_kernels  fits it
    noisy_play                  positions to fit it to
    nnue, nnue_kernels          HalfKAv2_hm networks, as chess programs use them
    inputs                      what the kernels of both have in common

Importing this package is light; its modules import numba.
"""
