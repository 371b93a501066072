"""What ``--kernels`` and ``GLASSBOX_DEBUG`` print of programs and steps."""
