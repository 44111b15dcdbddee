import { expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";
import { manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { expectNoRelease } from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const edSignature = Buffer.alloc(64, 1).toString("base64");
const mac = (architecture: string, version: string) => {
  const update = remoteArtifact({ fileName: `Acme-${version}-${architecture}.zip`, edSignature });
  return manifestEntry({ platform: "macos", architecture, version, artifacts: { update } });
};

test("an architecture may be a folder in place of ?arch=", () =>
  withCatalog(async ({ publish }) => {
    await publish(mac("arm64", "1.1.0"), mac("x64", "1.0.0"));
    for (const [arch, version] of [
      ["arm64", "1.1.0"],
      ["x64", "1.0.0"],
    ]) {
      const text = await (await get(`${STABLE}/${arch}/appcast.xml`)).text();
      expect(text).toBe(await (await get(`${STABLE}/appcast.xml?arch=${arch}`)).text());
      expect(text).toContain(`<sparkle:version>${version}</sparkle:version>`);
    }
    expect((await get(`${STABLE}/arm64/Acme-1.1.0-arm64.zip`)).status).toBe(302);
  }));

test("RELEASES.json names the newest build as Squirrel.Mac reads it from a static server", () =>
  withCatalog(async ({ publish }) => {
    await publish(mac("universal", "1.0.0"), { ...mac("universal", "1.1.0"), notes: "Faster" });
    const url = `${BASE_URL}${STABLE}/1.1.0/macos-universal/Acme-1.1.0-universal.zip`;
    const updateTo = { version: "1.1.0", name: "1.1.0", notes: "Faster", pub_date: "2026-11-01T09:00:00Z", url };
    expect(await (await get(`${STABLE}/RELEASES.json`)).json()).toEqual({
      currentRelease: "1.1.0",
      releases: [{ version: "1.1.0", updateTo }],
    });
  }));

test("RELEASES.json takes a client that names its version back only to a rollback", () =>
  withCatalog(async ({ publish }) => {
    const current = async (query = "") => {
      const response = await get(`${STABLE}/RELEASES.json${query}`);
      const { currentRelease, releases } = (await response.json()) as { currentRelease: string; releases: object[] };
      return [currentRelease, releases.length];
    };
    const yanked = { ...mac("universal", "1.5.0"), yanked: true };
    await publish(mac("universal", "1.4.0"), yanked);
    expect(await current("?current=1.5.0")).toEqual(["1.5.0", 0]);
    expect(await current("?current=1.3.0")).toEqual(["1.4.0", 1]);
    expect(await current("?current=1.4.0")).toEqual(["1.4.0", 1]);
    expect(await current()).toEqual(["1.4.0", 1]);
    await publish({ ...mac("universal", "1.4.0"), rollback: true }, yanked);
    expect(await current("?current=1.5.0")).toEqual(["1.4.0", 1]);
  }));

test("a link to the newest installer stays the same, and waits for the end of a rollout", () =>
  withCatalog(async ({ addFile, publish }) => {
    const release = async (version: string, change = {}) => {
      const installer = await addFile(`Setup ${version}.exe`, Buffer.from(version));
      return manifestEntry({ version, artifacts: { installer }, ...change });
    };
    await publish(await release("1.0.0"), await release("1.1.0"), await release("1.2.0", { rollout: 50 }));
    const response = await get(`${STABLE}/latest/windows-x64.exe`);
    expect([response.status, await response.text()]).toEqual([200, "1.1.0"]);
    for (const name of ["windows-x64.msi", "linux-x64.AppImage", "windows-x64", "beos-x64.exe", "x.exe"]) {
      await expectNoRelease(await get(`${STABLE}/latest/${name}`));
    }
  }));
