"""Authentication of visitors: login links, tokens, sessions, and the guard of all pages. Source: adr/0134, docs/security.md."""
