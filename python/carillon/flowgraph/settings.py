"""Parameters of blocks that the command line gives in place of a graph's file."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from yaml.error import YAMLError

from carillon.config import yaml_text
from carillon.config.errors import explain
from carillon.errors import InputError
from carillon.flowgraph.blocks import block_types
from carillon.flowgraph.model import GraphFile, NodeSection

FORM = "NODE.PARAMETER=VALUE"


def put(given: GraphFile, setting: str) -> None:
    """`setting`: NODE.PARAMETER=VALUE, with a value as YAML writes it, but a text as it is;
    `rate_hz` is the node's own. InputError says what is wrong with it; whether the block takes the
    value is said where the graph is checked. Another `type` leaves out what that has no parameter
    for."""
    key, equals, value = setting.partition("=")
    name, _, parameter = key.rpartition(".")
    if not equals or not name or not parameter:
        raise InputError(f"--set {setting}: must be {FORM}")
    place = next((k for k, node in enumerate(given.nodes) if node.name == name), None)
    if place is None:
        names = ", ".join(node.name for node in given.nodes)
        raise InputError(f"--set {setting}: there is no node {name}; there are {names}")
    node = given.nodes[place]
    if node.block is None:
        raise InputError(f"--set {setting}: node {name} has no block")
    try:
        if parameter == "rate_hz":
            keys = node.model_dump(exclude_unset=True) | {parameter: yaml_text.parse(value)[0]}
            given.nodes[place] = NodeSection.model_validate(keys)
        elif parameter == "type":
            _become(node.block, value)
        else:
            node.block[parameter] = _value(node.block, parameter, value)
    except ValidationError as error:
        ((_, told), *_) = explain(NodeSection, error)
        raise InputError(f"--set {setting}: {told}") from None
    except (YAMLError, ValueError, RecursionError):
        raise InputError(f"--set {setting}: the value is not valid YAML") from None


def _become(block: dict[str, Any], name: str) -> None:
    """Another type, with what it has a parameter for."""
    own = block_types().get(name)
    for key in [key for key in block if own is not None and key not in own.parameters]:
        del block[key]
    block["type"] = name


def _value(block: dict[str, Any], parameter: str, value: str) -> Any:
    """A text is not read as YAML: paths may have any characters."""
    own = block_types().get(str(block.get("type")))
    declared = None if own is None else own.parameters.get(parameter)
    if declared is not None and declared.kind == "text":
        return value
    return yaml_text.parse(value)[0]
