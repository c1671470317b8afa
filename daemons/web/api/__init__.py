"""The REST API: every GDI request as a resource below `/api/v1`. Source: DM-5; adr/0137, docs/api.md."""
