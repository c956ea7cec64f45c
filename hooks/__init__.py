"""How prlx enters other people's programs: one module a surface, chosen by what is there, never by a version number.

====================  ==============================================================================================
``launch``            what a launch is made of: parameters, and the memory that a pointer into one may touch
``arrays``            NumPy arrays and tensors as kernels take them, and the memory that a pointer into one may touch
``triton``            what of Triton is replaced while a device of ours is active, and put back afterwards
``instrument``        kernels that are compiled to record by themselves
``gpu``               Triton over the driver of a GPU, of NVIDIA or AMD: what of it is replaced while launches are recorded
``simulator``         the device itself: a driver object whose launches become ``Launch`` values
``cuda``              ``device="cuda"`` in code that uses torch, on a machine without one
``inductor``          what of torch's compiler is replaced while its kernels run on the simulator
====================  ==============================================================================================

Nothing here loads the core: compiling a kernel, also in a forked child, stays Python's and Triton's own business.
"""
