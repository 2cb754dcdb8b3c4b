"""The client for scripts and notebooks: the same names and types as `setpoint.client.Client`, without ``await``.

```python
from setpoint import blocking

with blocking.Client.from_kubeconfig() as client:
    for pod in client.list(Pod):
        print(pod.key)
```
"""

from setpoint.blocking.client import Client
from setpoint.blocking.streams import CommandStream, PortStream, Response, Watch

__all__ = ["Client", "CommandStream", "PortStream", "Response", "Watch"]
