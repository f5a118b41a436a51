"""Calls every operation of a client that openapi-python-client generated, and prints a line with each status.

Arguments: folder of the client's package, address of the gateway. Standard input: JSON with `key`, the API key, and
`operations`, each with `name`, `id` (for its path) and `body` (an example, or null).
"""

import importlib
import inspect
import json
import pkgutil
import re
import sys
import typing
from pathlib import Path

folder, address = Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(folder.parent))
package = importlib.import_module(folder.name)
given = json.load(sys.stdin)
client = package.AuthenticatedClient(
    base_url=address, token=given["key"], prefix="", auth_header_name="X-API-Key"
)

modules = {
    found.name.rsplit(".", 1)[1]: importlib.import_module(found.name)
    for found in pkgutil.walk_packages(
        importlib.import_module(f"{folder.name}.api").__path__, f"{folder.name}.api."
    )
    if not found.ispkg
}


def body_of(call, example):
    """Builds the body from the example, with the first model that the generated function takes."""
    hint = typing.get_type_hints(call)["body"]
    models = [part for part in (typing.get_args(hint) or (hint,)) if hasattr(part, "from_dict")]
    return models[0].from_dict(example)


for operation in given["operations"]:
    module = modules[re.sub(r"(?<!^)(?=[A-Z])", "_", operation["name"]).lower()]
    call = getattr(module, "sync_detailed")
    arguments = {"client": client}
    parameters = inspect.signature(call).parameters
    if "id" in parameters:
        arguments["id"] = operation["id"]
    if operation["body"] is not None:
        arguments["body"] = body_of(call, operation["body"])
    print(operation["name"], int(call(**arguments).status_code), flush=True)
