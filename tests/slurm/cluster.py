# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster whose nodes are network namespaces: a controller, and a daemon on each node.

    with Cluster(Slurm.find(None), 2) as cluster:
        cluster.run(["srun", "--mpi=pmix", "-n", "4", "program"])

Its settings, state and logs are in a temporary folder, and nothing of the machine's own Slurm is
read or written. It trusts every process inside its namespaces, so it needs no munge.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "net"))
import hosts as net  # noqa: E402

CORES = 4  # of a node, so that four PEs can be on one, whatever this machine has
START_S = 30
END_S = 5
PROGRAMS = ["slurmctld", "slurmd", "slurmstepd", "srun", "salloc", "sinfo"]

SETTINGS = """ClusterName=chorus
SlurmctldHost={controller}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
MailProg=/bin/true
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Slurm:
    """Its programs: those of this machine, or those of Debian's packages unpacked in a folder."""

    def __init__(self, folder, paths):
        self.folder, self.paths = folder, paths
        self.plugins = next(folder.glob("usr/lib/*/slurm-wlm")) if folder else None

    @classmethod
    def find(cls, folder):
        """In the folder if there is one, else on PATH. Debian's alternatives make the names of its daemons."""
        names = {name: f"{name}-wlm" if folder and name.startswith("slurm") else name for name in PROGRAMS}
        places = [folder / "usr/sbin", folder / "usr/bin"] if folder else [*os.get_exec_path(), "/usr/sbin", "/sbin"]
        path = os.pathsep.join(map(str, places))
        paths = {name: shutil.which(file, path=path) for name, file in names.items()}
        missing = [name for name, at in paths.items() if at is None]
        if missing:
            raise net.CannotError(f"no program {', '.join(missing)} in {folder or 'PATH'}; Debian has them in slurmctld, slurmd and "
                                  "slurm-client, which './dev slurm' fetches into a folder of the build")
        return cls(folder, paths)

    def environment(self):
        if self.folder is None:
            return {}
        path = f"{self.plugins}{os.pathsep}{self.plugins.parent}"
        return {"LD_LIBRARY_PATH": path, "PATH": f"{self.folder}/usr/bin{os.pathsep}{os.environ['PATH']}"}

    def settings(self):
        return f"PluginDir={self.plugins}\n" if self.folder else ""


class Cluster:
    def __init__(self, slurm, n):
        self.slurm, self.hosts = slurm, net.Hosts(n)
        self.nodes = self.hosts.names
        self.folder = Path(tempfile.mkdtemp(prefix="chorus-slurm."))
        self.env = {**os.environ, **slurm.environment(), "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.daemons = []
        self.own = set()  # processes of the daemons

    def __enter__(self):
        try:
            self.hosts.__enter__()
            self.hosts.wait_for_links()
            self.configure()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(END_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.hosts.remove()
        shutil.rmtree(self.folder)

    def configure(self):
        text = SETTINGS.format(controller=self.nodes[0], address=self.hosts.addresses[0], folder=self.folder)
        text += self.slurm.settings()
        for name, address in zip(self.nodes, self.hosts.addresses):
            text += f"NodeName={name} NodeHostname={name} NodeAddr={address} CPUs={CORES}\n"
            for kind in ("spool", "tmp"):
                (self.folder / f"{kind}.{name}").mkdir()
        (self.folder / "state").mkdir()
        (self.folder / "slurm.conf").write_text(text)
        # Else it looks for the machine's control groups; this plugin does nothing with them unless asked.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")

    def inside(self, i, command):
        """The command that runs `command` on node i, where its name is the host's name."""
        return self.hosts.inside(i, ["unshare", "--uts", "sh", "-c", f'hostname {self.nodes[i]} && exec "$@"', "sh", *command])

    def start_daemon(self, i, name, *options):
        with open(self.folder / f"{name}.{i}.err", "w", encoding="utf-8") as err:
            self.daemons.append(subprocess.Popen(self.inside(i, [self.slurm.paths[name], "-D", *options]), env=self.env,
                                                 stdin=subprocess.DEVNULL, stdout=err, stderr=err))

    def start(self):
        self.start_daemon(0, "slurmctld")
        for i, name in enumerate(self.nodes):
            self.start_daemon(i, "slurmd", "-N", name, "-d", self.slurm.paths["slurmstepd"])
        until = time.monotonic() + START_S
        while self.run(["sinfo", "-h", "-o", "%t %D"], START_S).stdout.split() != ["idle", str(len(self.nodes))]:
            if time.monotonic() > until:
                raise net.CannotError(f"the nodes did not start within {START_S} s:\n{self.log()}")
            time.sleep(0.2)
        self.own = self.pids()

    def pids(self):
        return {pid for i in range(self.hosts.n) for pid in self.hosts.pids(i)}

    def log(self):
        """The last errors that the daemons wrote."""
        errors = [f"{path.stem}: {line}" for path in sorted(self.folder.glob("*.log"))
                  for line in path.read_text(errors="replace").splitlines() if "error: " in line]
        return "\n".join(errors[-20:])

    def run(self, command, seconds, env=None):
        """On the first node: exit status, and both outputs as one text in stdout."""
        return subprocess.run(self.inside(0, map(str, command)), env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=seconds,
                              check=False)

    def left(self):
        """What jobs left behind: processes beside the daemons, and files of PMIx."""
        left = {f"process {pid}" for pid in self.pids() - self.own}
        return left | {f"file {path}" for name in self.nodes for path in (self.folder / f"tmp.{name}").iterdir()}
