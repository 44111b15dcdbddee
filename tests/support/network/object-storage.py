"""An OpenStack Swift with its S3 API on a free port of this machine, objects in memory.

Usage: python3 swift.py FOLDER ACCESS_KEY SECRET_KEY. Prints its port once it answers; ends with its input.
"""
import os
import sys

import eventlet
from eventlet import wsgi

eventlet.patcher.monkey_patch(all=False, socket=True, select=True, thread=True)

from swift.common import utils  # noqa: E402
from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.wsgi import ConfigString, loadapp  # noqa: E402

PROXY = """
[DEFAULT]
swift_dir = {folder}
[pipeline:main]
pipeline = cache s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = eu-central-1
[filter:slo]
use = egg:swift#slo
[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{user} = {secret} .admin
"""
BACKEND = """
[DEFAULT]
swift_dir = {folder}
devices = {folder}
mount_check = false
[app:main]
use = egg:swift#{app}
"""


class Quiet:
    def write(self, *_):
        pass

    flush = write


def listen():
    return eventlet.listen(("127.0.0.1", 0))


def serve(sock, config):
    app = loadapp(ConfigString(config), global_conf={"log_name": "swift"})
    eventlet.spawn(wsgi.server, sock, app, log=Quiet(), log_output=False)


def main(folder, access_key, secret):
    os.makedirs(os.path.join(folder, "sda"))
    with open(os.path.join(folder, "swift.conf"), "w") as conf:
        conf.write("[swift-hash]\nswift_hash_path_suffix = homeport\n[storage-policy:0]\nname = only\ndefault = yes\n")
    utils.set_swift_dir(folder)
    for ring, app in (("account", "account"), ("container", "container"), ("object", "mem_object")):
        sock = listen()
        builder = RingBuilder(1, 1, 0)
        device = {"region": 1, "zone": 1, "weight": 1, "ip": "127.0.0.1", "port": sock.getsockname()[1], "device": "sda"}
        builder.add_dev({**device, "replication_ip": device["ip"], "replication_port": device["port"]})
        builder.rebalance()
        builder.get_ring().save(os.path.join(folder, ring + ".ring.gz"))
        serve(sock, BACKEND.format(folder=folder, app=app))
    sock = listen()
    account, user = access_key.split(":")
    serve(sock, PROXY.format(folder=folder, account=account, user=user, secret=secret))
    print(sock.getsockname()[1], flush=True)
    eventlet.tpool.execute(sys.stdin.buffer.read)


main(*sys.argv[1:])
