import { createHash } from "node:crypto";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { draftFolder } from "@/lib/releases/publishing/folder/draft-folder";
import { formatVersion } from "@/lib/releases/schema";
import { get } from "@/tests/support/api";
import { manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { newFolder, publishAll, releasesOf, type TestFolder } from "@/tests/support/releases/publishing";
import { withCatalog } from "@/tests/support/releases/releases";
import { nupkg } from "@/tests/support/releases/tools/nupkg";
import { toolOutput } from "@/tests/support/releases/tools/output";
import { pe } from "@/tests/support/releases/tools/programs";

type Package = { name: string; version: string; comment?: string };

/** The output of electron-winstaller: these packages, their RELEASES and a setup. */
async function squirrel(packages: readonly Package[], setups: readonly string[] = ["Setup.exe"]) {
  const testFolder = await newFolder();
  const output = toolOutput(path.join(testFolder.folder, "squirrel-windows"));
  const lines: string[] = [];
  for (const { name, version, comment = "" } of packages) {
    const program = pe(name.includes("-ia32-") ? "i386" : "x64");
    const bytes = await output.write(name, nupkg({ id: "Acme", version }, program));
    lines.push(`${createHash("sha1").update(bytes).digest("hex")} ${name} ${bytes.length}${comment}`);
  }
  for (const name of setups) await output.write(name);
  await output.write("RELEASES", lines.join("\r\n"));
  const drafts = (hints = {}, change = {}) =>
    draftFolder(output.folder, {
      product: "core",
      hints: { architecture: "x64", ...hints },
      fields: {},
      confirmations: { isNew: true },
      ...change,
    });
  return { ...testFolder, ...output, lines, drafts };
}

const full = (version: string, comment = "") => ({ name: `Acme-${version}-full.nupkg`, version, comment });

/** What the catalog has after the folder was published into it. */
async function published(catalog: TestFolder, { drafts }: Awaited<ReturnType<typeof squirrel>>, hints = {}) {
  await publishAll(catalog, (await drafts(hints)).drafts);
  return (await releasesOf(catalog)).map(({ version, architecture, rollout, artifacts }) => ({
    version: formatVersion(version),
    architecture,
    rollout,
    installer: artifacts.installer?.fileName,
    update: artifacts.update?.fileName,
  }));
}

describe("prereleases", () => {
  test("are offered in the order of their digits, as Squirrel.Windows compares them", async () => {
    const catalog = await newFolder();
    await published(catalog, await squirrel([full("1.4.0-beta9")]));
    const both = await squirrel([full("1.4.0-beta9"), full("1.4.0-beta10")]);
    expect((await published(catalog, both)).map(({ version }) => version)).toEqual(["1.4.0-beta.9", "1.4.0-beta.10"]);
    await withCatalog(async ({ publish }) => {
      const release = (version: string, name: string) =>
        manifestEntry({
          version,
          channel: "beta",
          artifacts: { update: remoteArtifact({ fileName: `Acme-${name}-full.nupkg`, sha1: "ab".repeat(20) }) },
        });
      await publish(release("1.4.0-beta.9", "1.4.0-beta9"), release("1.4.0-beta.10", "1.4.0-beta10"));
      for (const installed of ["1.4.0-beta9", "1.4.0-beta2", "1.4.0-beta10"]) {
        const response = await get(`/api/updates/core/beta/RELEASES?id=Acme&localVersion=${installed}`);
        expect(await response.text()).toContain(`${"AB".repeat(20)} Acme-1.4.0-beta10-full.nupkg`);
      }
      const newer = await get("/api/updates/core/beta/RELEASES?id=Acme&localVersion=1.4.0-beta11");
      expect(await newer.text()).toContain("Acme-1.4.0-beta11-full.nupkg 1\n");
    });
  });

  test("of the installed version may be in the catalog as Squirrel.Windows writes it", () =>
    withCatalog(async ({ publish }) => {
      const artifacts = { update: remoteArtifact({ fileName: "Acme-1.4.0-beta2-full.nupkg", sha1: "ab".repeat(20) }) };
      await publish(manifestEntry({ version: "1.4.0-beta2", channel: "beta", artifacts, rollout: 0 }));
      const response = await get("/api/updates/core/beta/RELEASES?id=Acme&localVersion=1.4.0-beta2");
      expect(await response.text()).toContain("Acme-1.4.0-beta2-full.nupkg");
    }));

  test("whose word is no known channel need --channel or --new, and a note names the channel", async () => {
    const output = await squirrel([full("1.4.0-build10")]);
    const { drafts } = await output.drafts({}, { confirmations: {} });
    await expect(publishAll(output, drafts)).rejects.toThrow(
      'no channel "build", only stable, beta. Choose one with --channel',
    );
    expect((await output.drafts()).notes).toEqual(['The channel is "build": --channel sets another one.']);
    const beta = await output.drafts({}, { channel: "beta", confirmations: {} });
    expect(beta).toMatchObject({ notes: [], drafts: [{ release: { channel: "beta" } }] });
  });
});

test("the percentage of a staged release is its rollout", async () => {
  const output = await squirrel([full("1.3.0"), full("1.4.0", "# 50%")]);
  expect(await published(output, output)).toMatchObject([{ version: "1.4.0", rollout: 50 }]);
  const { drafts } = await output.drafts({}, { fields: { rollout: 5 } });
  expect(drafts).toMatchObject([{ release: { rollout: 5 } }]);
  const unclear = await squirrel([full("1.4.0", " # half, 50 % of them")]);
  await expect(unclear.drafts()).rejects.toThrow("set --rollout");
});

test("four numbers are a version and its build, which --version names as they are", async () => {
  const output = await squirrel([full("1.4.0.9"), full("1.4.0.10")]);
  expect(await published(output, output, { version: "1.4.0.9" })).toMatchObject([{ version: "1.4.0+9" }]);
  expect((await published(output, output)).map(({ version }) => version)).toEqual(["1.4.0+9", "1.4.0+10"]);
});

test("the names of electron-builder are read, and published as Squirrel.Windows reads them", async () => {
  const setups = ["Acme Setup 1.4.0.exe", "Acme Setup 1.4.1.exe", "Acme Setup 1.4.10.exe"];
  const ia32 = await squirrel([{ name: "Acme-1.4.1-ia32-full.nupkg", version: "1.4.1" }], setups);
  expect(await published(ia32, ia32, { architecture: undefined })).toMatchObject([
    { version: "1.4.1", architecture: "ia32", installer: "Acme Setup 1.4.1.exe", update: "Acme-1.4.1-full.nupkg" },
  ]);
  const dotted = { name: "Acme-1.4.1-beta.2-full.nupkg", version: "1.4.1-beta2" };
  const beta = await squirrel([dotted], [...setups, "Acme Setup 1.4.1-beta.2.exe"]);
  expect(await published(beta, beta)).toMatchObject([
    { version: "1.4.1-beta.2", installer: "Acme Setup 1.4.1-beta.2.exe", update: "Acme-1.4.1-beta2-full.nupkg" },
  ]);
  await expect((await squirrel([full("1.4.2")], setups)).drafts()).rejects.toThrow("- Setup.exe");
});

test("a line that Squirrel.Windows cannot read is refused, unless it is of another version", async () => {
  const output = await squirrel([full("1.3.0"), full("1.4.0")]);
  const unreadable = `${"0".repeat(40)} Acme-1.5.0.nupkg 1000`;
  await output.write("RELEASES", ["# packages", ...output.lines, "", unreadable].join("\n"));
  await expect(output.drafts()).rejects.toThrow(`"${unreadable}". Correct it, or name another version with --version.`);
  await expect(output.drafts({ version: "1.5.0" })).rejects.toThrow(unreadable);
  expect((await output.drafts({ version: "1.4.0" })).drafts).toMatchObject([{ release: { version: "1.4.0" } }]);
});

test("two full packages of one version are refused", async () => {
  const ia32 = { name: "Acme-1.4.0-ia32-full.nupkg", version: "1.4.0" };
  await expect((await squirrel([full("1.4.0"), ia32])).drafts()).rejects.toThrow("two full packages of 1.4.0");
});
