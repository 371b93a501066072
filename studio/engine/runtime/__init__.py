"""The backend protocol, sessions, executables and asynchronous reads."""
