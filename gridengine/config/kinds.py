"""The registry of configuration objects.

Owns the model of each kind; `gridengine.kinds` has its other properties. Called by all code that handles objects of any kind by
name.
"""

from gridengine.config.access import Project, User, Userset
from gridengine.config.calendars import CalendarObject
from gridengine.config.cluster_queue import ClusterQueue
from gridengine.config.complexes import Complex
from gridengine.config.configuration import Configuration
from gridengine.config.hosts import AdminHost, ExecHost, HostGroup, HostUnits, Manager, Operator, SubmitHost
from gridengine.config.objects import ConfigObject
from gridengine.config.parallel import Checkpoint, ParallelEnvironment
from gridengine.config.resource_quota import ResourceQuota
from gridengine.config.scheduler import Scheduler
from gridengine.config.share_tree import ShareTreeObject

#: model by kind
KINDS: dict[str, type[ConfigObject]] = {
    model.kind: model
    for model in (
        ClusterQueue,
        HostGroup,
        ExecHost,
        HostUnits,
        AdminHost,
        SubmitHost,
        Manager,
        Operator,
        Complex,
        ParallelEnvironment,
        Checkpoint,
        CalendarObject,
        Userset,
        User,
        Project,
        ResourceQuota,
        ShareTreeObject,
        Scheduler,
        Configuration,
    )
}
