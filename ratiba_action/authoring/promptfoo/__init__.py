"""promptfoo's configurations and tests as a suite of this project, with the system that they run.

Imports what ``authoring`` may. Start with ``configuration.py``. Nothing of a project is executed, except by
``project_code.py``, where a person asked for it.
"""
