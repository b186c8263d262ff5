"""Row F29: instances that stop and processes that hand over, under load; nothing is lost."""
import concurrent.futures
import time

import harness
import open_loop
from gateway_peers import Gateway, wrk
from report import record
from test_rolling_restart import Chain


# A stop loses nothing that was begun, a restart beside it loses nothing at all.
def test_f29_rolling_restarts(started, api):
    port = harness.free_port()

    def instance():
        return harness.Penstock("version: 1\ngateway: { share_port: true }\n", ["--workers", "1", "--listen", f"127.0.0.1:{port}"], upstream=api.port)
    running = [instance(), instance()]
    load = started(open_loop.OpenLoop(port, 300)).start()
    closing = started(open_loop.OpenLoop(port, 50, headers={"Connection": "close"})).start()
    codes, slowest = [], 0
    for _ in range(20):
        old = running.pop(0)
        running.append(instance())
        began = time.monotonic()
        codes.append(old.terminate(40))
        slowest = max(slowest, time.monotonic() - began)
        old.close()
    harness.wait_for(lambda: load.now() > 15, "some load", 60)
    seen = load.stop() + closing.stop()
    for one in running:
        one.close()
    lost = [s for s in seen if s.status != 200]
    record("F29", "20 rolling restarts of 2 instances, 350/s, a seventh on new connections", "0 lost", f"{len(lost)} of {len(seen)}", not lost)
    record("F29", "exit codes of the 20", "0", sorted(set(codes)), set(codes) == {0})
    record("F29", "the slowest of the 20 stops", "within the drain limit of 30 s", f"{slowest:.1f} s", slowest <= 31)


# The promise with its number: every answer arrives, over as many handovers as fit into the load.
def test_f29_handovers_under_load(started, api):
    gateway = Gateway(started, api.port, args=("--admin", "127.0.0.1:0"))
    chain = started(Chain(gateway.process))
    wanted, total, lost, restarts = 100_000 * harness.SCALE, 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor() as loads:
        while total < wanted:
            running = [loads.submit(wrk, gateway.port, 10, 32), loads.submit(wrk, gateway.port, 10, 8, headers=("Connection: close",))]
            while not all(load.done() for load in running):
                chain.restart()
                restarts += 1
                for old in chain.pids[:-1]:
                    chain.await_end(old)
                time.sleep(0.2)  # a time in which the new one serves alone
            for answers, refused, errors, _ in (load.result() for load in running):
                total, lost = total + answers, lost + refused + errors
    record("F29", f"{restarts} handovers to a new process, wrk on 32 kept and 8 times new connections", "0 lost", f"{lost} of {total}", lost == 0)
    record("F29", "handovers while that load ran", "at least ten", restarts, restarts >= 10)
