"""SoapySDR itself, where it is installed."""

import pytest
from block_streams import Values
from carillon import core


def test_soapysdr_itself_is_asked_as_it_wants() -> None:
    """Its null device makes nothing, and says so; what can fail is in the C++ tests."""
    values: Values = {"device": "driver=null", "frequency_hz": 100e6, "rate_hz": 1e6}
    source = core.Block("soapy-source", values)
    with pytest.raises(RuntimeError, match=r"^soapy driver=null: ") as told:
        source.start()
    if "no libSoapySDR.so.0.8" in str(told.value):
        pytest.skip("SoapySDR is not installed")
    assert "makes 0 samples a second where the graph says 1000000" in str(told.value)
    missing = core.Block("soapy-source", {**values, "device": "driver=none"})
    with pytest.raises(RuntimeError, match=r"^soapy driver=none: opening it: .*no match"):
        missing.start()
