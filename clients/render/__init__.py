"""How answers look: tables and XML in Grid Engine's formats, from the plain data of the reading requests."""
