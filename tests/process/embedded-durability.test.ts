import { expect, test } from "vitest";
import { billingEvent, deliverTo, type Sent } from "../support/billing";
import { canMount, newDisk } from "../support/disk";
import { startForTest } from "../support/service";

const WRITERS = 8;
const ACKNOWLEDGED = 200;

test.runIf(canMount)("a power cut under load loses nothing that was acknowledged", async () => {
  const disk = await newDisk(512);
  const env = { DATA_DIR: `${disk.folder}/data` };
  const service = await startForTest(env);
  const acknowledged: Sent[] = [];
  let isCut: Promise<void> | undefined;
  const write = async () => {
    for (;;) {
      const event = billingEvent("INITIAL_PURCHASE");
      if (!(await deliverTo(service, event)).ok) return;
      acknowledged.push(event);
      if (acknowledged.length >= ACKNOWLEDGED) isCut ??= disk.cutPower();
    }
  };
  await Promise.allSettled(Array.from({ length: WRITERS }, write));
  await isCut;
  await service.end("SIGKILL");
  await disk.remount();

  const again = await startForTest(env);
  const lost: Sent[] = [];
  for (const event of acknowledged) {
    const { status } = (await (await deliverTo(again, event)).json()) as { status: string };
    if (status !== "duplicate") lost.push(event);
  }
  expect({ lost: lost.length, enough: acknowledged.length >= ACKNOWLEDGED }).toEqual({ lost: 0, enough: true });
});
