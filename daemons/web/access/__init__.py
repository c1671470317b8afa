"""Who is in front of a page: links and tokens, sessions, and the guard before all pages. Source: adr/0134, docs/security.md."""
