"""The commands of ``ratiba``, one module each.

Imports everything but ``cli``, ``main`` and ``pytest_plugin``. Start with the command's own module.
"""
