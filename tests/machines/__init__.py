"""The system on real systemd machines: `make machines`."""
