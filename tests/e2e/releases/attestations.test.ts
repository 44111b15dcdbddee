import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "@/tests/support/process/command";
import { newDataDir, type Service, startService } from "@/tests/support/process/service";
import { readSample, SAMPLE_FILE } from "@/tests/support/releases/sigstore";

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.end("SIGKILL"));

test("the built service verifies what GitHub attested, once its workflow is a publisher", async () => {
  const folder = await newDataDir();
  await writeFile(path.join(folder, "Setup.exe"), SAMPLE_FILE);
  await writeFile(path.join(folder, "attestation.json"), await readSample());
  const run = (line: string) =>
    runCommand("homeport", line.split(" "), { DATA_DIR: service.dataDir, INIT_CWD: folder });
  const target = "--product core --platform windows --arch x64 --version 1.4.0 --new";
  const add = `release add Setup.exe ${target} --attestation attestation.json`;
  expect(await run(add)).toMatchObject({ code: 1, output: expect.stringContaining("no publisher of core") });
  const issuer = "--issuer https://token.actions.githubusercontent.com/hammer-time";
  const publisher = `github too-legit/attest --workflow integration.yml ${issuer} --product core`;
  expect(await run(`publishers add ${publisher}`)).toMatchObject({ code: 0 });
  expect(await run(add)).toMatchObject({ code: 0 });
  const served = await service.fetch("/api/updates/core/stable/Setup.exe.sigstore.json");
  expect(await served.text()).toBe((await readSample()).toString());
  expect(await run("release verify")).toMatchObject({ code: 0, output: expect.stringContaining("2 valid, 0 invalid") });
});
