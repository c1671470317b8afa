"""Tests in a browser. A package, so that the browser's driver ends with them: others run event loops of their own."""
