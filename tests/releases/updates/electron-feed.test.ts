import { lt } from "semver";
import { expect, test } from "vitest";
import { rolloutBucket } from "@/lib/releases/selection/select-release";
import { get } from "@/tests/support/api";
import { type EntryFields, manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { expectNoRelease, HOSTILE } from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";
import { getYml, STABLE } from "@/tests/support/releases/updates";

type Files = { update?: string; others?: string[] };

function release(platform: string, architecture: string, version: string, files: Files, change: EntryFields = {}) {
  const [update, ...others] = [files.update, ...(files.others ?? [])].map((fileName) => remoteArtifact({ fileName }));
  return manifestEntry({ platform, architecture, version, artifacts: { update, others }, ...change });
}

const windows = (architecture: string, version: string, change?: EntryFields) =>
  release("windows", architecture, version, { update: `Acme Setup ${version}-${architecture}.exe` }, change);
const mac = (architecture: string, version: string, change?: EntryFields) =>
  release("macos", architecture, version, { update: `Acme-${version}-${architecture}.zip` }, change);
const urls = (info: { files: { url: string }[] }) => info.files.map(({ url }) => url);

test("latest.yml has electron-builder's fields, and the files of every architecture", () =>
  withCatalog(async ({ publish }) => {
    const change = { notes: HOSTILE, minimumSystemVersion: "10.0.17763" };
    await publish(windows("arm64", "2.0.0", change), windows("x64", "2.0.0", change), windows("x64", "1.9.0"));
    const { sha512 } = remoteArtifact();
    const url = "2.0.0/windows-x64/Acme%20Setup%202.0.0-x64.exe";
    expect(await getYml("latest.yml")).toEqual({
      version: "2.0.0",
      files: [
        { url, sha512, size: 10 },
        { url: "2.0.0/windows-arm64/Acme%20Setup%202.0.0-arm64.exe", sha512, size: 10 },
      ],
      path: url,
      sha512,
      releaseDate: "2026-11-01T09:00:00.000Z",
      releaseNotes: HOSTILE.toWellFormed(),
      minimumSystemVersion: "10.0.17763",
    });
  }));

test("latest.yml follows the architecture that all clients can run, and lists others of the same version only", () =>
  withCatalog(async ({ publish }) => {
    await publish(windows("x64", "2.0.0"), windows("arm64", "2.1.0"), windows("ia32", "1.0.0"));
    expect(urls(await getYml("latest.yml"))).toEqual(["2.0.0/windows-x64/Acme%20Setup%202.0.0-x64.exe"]);
    expect(urls(await getYml("latest-arm64.yml"))).toEqual(["2.1.0/windows-arm64/Acme%20Setup%202.1.0-arm64.exe"]);
    await publish(windows("arm64", "2.1.0"));
    expect(await getYml("latest.yml")).toMatchObject({ version: "2.1.0" });
  }));

test("latest-mac.yml has the universal build beside those of one architecture", () =>
  withCatalog(async ({ publish }) => {
    await publish(mac("universal", "2.0.0"), mac("arm64", "2.0.0"), mac("arm64", "2.1.0"));
    expect(urls(await getYml("latest-mac.yml"))).toEqual([
      "2.0.0/macos-universal/Acme-2.0.0-universal.zip",
      "2.0.0/macos-arm64/Acme-2.0.0-arm64.zip",
    ]);
    expect(await getYml("latest-arm64-mac.yml")).toMatchObject({ version: "2.1.0" });
  }));

test("latest-mac.yml lists disk images after the archives, and none of a release without an archive", () =>
  withCatalog(async ({ publish }) => {
    const image = (architecture: string) => remoteArtifact({ fileName: `Acme-2.0.0-${architecture}.dmg` });
    const archive = remoteArtifact({ fileName: "Acme-2.0.0-universal.zip" });
    await publish(
      manifestEntry({
        platform: "macos",
        architecture: "universal",
        version: "2.0.0",
        artifacts: { update: archive, installer: image("universal") },
      }),
      manifestEntry({
        platform: "macos",
        architecture: "arm64",
        version: "2.0.0",
        artifacts: { installer: image("arm64") },
      }),
    );
    expect(urls(await getYml("latest-mac.yml"))).toEqual([
      "2.0.0/macos-universal/Acme-2.0.0-universal.zip",
      "2.0.0/macos-universal/Acme-2.0.0-universal.dmg",
    ]);
    expect((await getYml("latest-mac.yml")).path).toBe("2.0.0/macos-universal/Acme-2.0.0-universal.zip");
  }));

test("latest-linux.yml has one file for each kind of package, and each architecture its own feed", () =>
  withCatalog(async ({ publish }) => {
    const files = (suffix: string) => ({
      update: `acme-${suffix}.deb`,
      others: [`acme-${suffix}.rpm`, `acme-${suffix}.tar.gz`, `Acme-${suffix}.AppImage`],
    });
    await publish(
      release("linux", "x64", "2.0.0", files("x64")),
      release("linux", "arm64", "2.1.0", files("arm64")),
      release("linux", "armv7l", "2.2.0", files("armv7l")),
    );
    expect(urls(await getYml("latest-linux.yml"))).toEqual([
      "2.0.0/linux-x64/Acme-x64.AppImage",
      "2.0.0/linux-x64/acme-x64.deb",
      "2.0.0/linux-x64/acme-x64.rpm",
    ]);
    expect(await getYml("latest-linux-arm64.yml")).toMatchObject({ version: "2.1.0" });
    expect(await getYml("latest-linux-arm.yml")).toMatchObject({ version: "2.2.0" });
  }));

test.each([
  ["5.15.0-91-generic", true],
  ["5.15.0", true],
  ["5.15.0-0.deb11.2-amd64", true],
  ["6.1.0-13-amd64", true],
  ["5.14.21-150500.55-default", false],
  ["5.4.0-200-generic", false],
])("a system with the kernel %s has what a release for Linux 5.15 needs: %s", (kernel, isSupported) =>
  withCatalog(async ({ publish }) => {
    const update = { minimumSystemVersion: "5.15" };
    await publish(release("linux", "x64", "2.0.0", { update: "Acme.AppImage" }, update));
    // electron-updater, AppUpdater.checkIfUpdateSupported
    expect(!lt(kernel, String((await getYml("latest-linux.yml")).minimumSystemVersion))).toBe(isSupported);
    const query = "product=core&platform=linux&architecture=x64&bundleType=appimage";
    const ofVersion = await get(`/api/version?format=electron&${query}`);
    expect(await ofVersion.text()).toContain('minimumSystemVersion: "5.15.0-0"');
  }),
);

test("a channel is named by the URL or by the file, and its files are found from there", () =>
  withCatalog(async ({ publish, addFile }) => {
    const update = await addFile("Acme-2.0.0-beta.1.exe", Buffer.from("beta"));
    await publish(manifestEntry({ channel: "beta", version: "2.0.0-beta.1", artifacts: { update } }));
    const beta = await getYml("latest.yml", {}, "/api/updates/core/beta");
    expect(urls(beta)).toEqual(["2.0.0-beta.1/windows-x64/Acme-2.0.0-beta.1.exe"]);
    expect(await getYml("beta.yml", {}, "/api/updates/core/beta")).toEqual(beta);
    const [url = ""] = urls(await getYml("beta.yml"));
    const file = await get(new URL(url, `http://localhost:3000${STABLE}/`).pathname);
    expect([file.status, await file.text()]).toEqual([200, "beta"]);
    for (const name of ["latest.yml", "alpha.yml", "latest-mac.yml", "latest-sparc.yml"]) {
      await expectNoRelease(await get(`${STABLE}/${name}`));
    }
  }));

test("a channel in an app may have capitals and dashes", () =>
  withCatalog(async ({ publish }) => {
    await publish(
      windows("x64", "2.0.0-beta.1", { channel: "beta" }),
      mac("x64", "2.1.0", { channel: "feature-login" }),
    );
    expect(await getYml("Beta.yml")).toMatchObject({ version: "2.0.0-beta.1" });
    expect(await getYml("feature-login-mac.yml")).toMatchObject({ version: "2.1.0" });
  }));

test("the id that electron-updater sends decides on a rollout, once for all architectures", () =>
  withCatalog(async ({ publish }) => {
    const rollout = { rollout: 50, minimumSystemVersion: null };
    await publish(
      windows("x64", "2.0.0", { ...rollout, id: "x64" }),
      windows("arm64", "2.0.0", { ...rollout, id: "arm64" }),
      windows("x64", "1.9.0"),
      windows("arm64", "1.9.0"),
    );
    for (const id of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      const info = await getYml("latest.yml", { "x-user-staging-id": id });
      const version = rolloutBucket("x64", id) < 50 ? "2.0.0" : "1.9.0";
      expect([info.version, info.files.length]).toEqual([version, 2]);
      expect(info).not.toHaveProperty("stagingPercentage");
    }
    expect(await getYml("latest.yml")).toMatchObject({ version: "1.9.0" });
    expect((await get(`${STABLE}/latest.yml`)).headers.get("cache-control")).toBe("private, no-cache");
  }));

test("a lower rollout of another architecture holds for that architecture", () =>
  withCatalog(async ({ publish }) => {
    await publish(windows("x64", "2.0.0", { id: "x64" }), windows("arm64", "2.0.0", { rollout: 30 }));
    for (const id of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      const { files } = await getYml("latest.yml", { "x-user-staging-id": id });
      expect(files.length).toBe(rolloutBucket("x64", id) < 30 ? 2 : 1);
    }
  }));
