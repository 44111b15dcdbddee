import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";
import { type EntryFields, manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { expectNoRelease, MINISIGN, problemOf } from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const signed = (fileName: string, change: EntryFields = {}) =>
  remoteArtifact({ fileName, minisign: MINISIGN, ...change });

const release = (platform: string, architecture: string, version: string, ...fileNames: string[]) => {
  const [update, ...others] = fileNames.map((name) => signed(name));
  return manifestEntry({ platform, architecture, version, artifacts: { update, others } });
};

const check = (path: string, headers: Record<string, string> = {}) =>
  get(`${STABLE}/${path}`, { headers: { accept: "application/json", ...headers } });
const fileOf = async (response: Response) => {
  expect(response.status).toBe(200);
  return ((await response.json()) as { url: string }).url.split("/").at(-1);
};

describe("Tauri's dynamic server", () => {
  test("responds to {{target}}/{{arch}}/{{current_version}} with the plugin's fields, and to a current app with 204", () =>
    withCatalog(async ({ publish }) => {
      const app = release("macos", "universal", "1.1.0", "App.app.tar.gz");
      await publish({ ...app, notes: "New" });
      expect(await (await check("darwin/aarch64/1.0.0")).json()).toEqual({
        version: "1.1.0",
        notes: "New",
        pub_date: "2026-11-01T09:00:00.000Z",
        url: `${BASE_URL}${STABLE}/1.1.0/macos-universal/App.app.tar.gz`,
        signature: MINISIGN,
      });
      for (const current of ["1.1.0", "1.1.0+7", "1.1.0%2B7", "2.0.0"]) {
        const response = await check(`darwin/x86_64/${current}`);
        const caching = response.headers.get("cache-control");
        expect([response.status, await response.text(), caching]).toEqual([204, "", "private, no-cache"]);
      }
      await publish({ ...app, version: "1.1.0+8" });
      for (const current of ["1.1.0+7", "1.1.0.7"]) expect((await check(`darwin/x86_64/${current}`)).status).toBe(200);
      expect((await check("darwin/x86_64/1.1.0+8")).status).toBe(204);
      expect((await check("darwin/x86_64/1.1.0-beta.1")).status).toBe(200);
    }));

  test("follows the rollout, the system version, the bundle type and a rollback", () =>
    withCatalog(async ({ publish }) => {
      const newest = release("windows", "x64", "2.0.0", "a.exe");
      const older = release("windows", "x64", "1.1.0", "b.exe");
      await publish({ ...newest, rollout: 50 }, older);
      const draw = (id: number) => check("windows/x86_64/1.0.0", { "x-user-staging-id": `client-${id}` });
      const drawn = await Promise.all(Array.from({ length: 24 }, async (_, id) => fileOf(await draw(id))));
      expect(new Set(drawn)).toEqual(new Set(["a.exe", "b.exe"]));
      expect(await fileOf(await check("windows/x86_64/1.0.0"))).toBe("b.exe");
      await publish({ ...newest, minimumSystemVersion: "10.0.22000" }, older);
      expect(await fileOf(await check("windows/x86_64/1.0.0"))).toBe("b.exe");
      expect(await fileOf(await check("windows/x86_64/1.0.0?systemVersion=10.0.22631"))).toBe("a.exe");
      await publish(release("windows", "x64", "2.0.0", "a.exe", "a.msi"));
      expect(await fileOf(await check("windows/x86_64/1.0.0?bundleType=msi"))).toBe("a.msi");
      await publish({ ...newest, yanked: true }, { ...older, rollback: true });
      expect(await fileOf(await check("windows/x86_64/2.0.0"))).toBe("b.exe");
    }));

  test.each([
    ["windows/x86_64/latest", 400, "invalid_query"],
    ["windows/x86_64/1.0.0.0.0", 400, "invalid_query"],
    ["windows/x86_64/%7B%7Bcurrent_version%7D%7D", 400, "invalid_query"],
    ["beos/x86_64/1.0.0", 404, "release_not_found"],
    ["windows/..%2Fx64/1.0.0", 404, "not_found"],
  ])("rejects %s", async (path, status, code) => {
    expect(await problemOf(await check(path))).toMatchObject({ status, code });
  });

  test("is 404 for an unknown channel, even for one that looks like a path", async () => {
    for (const channel of ["nightly", "..%2Fstable", "..%252Fx", "%00"]) {
      const response = await get(`/api/updates/core/${channel}/windows/x86_64/1.0.0`);
      expect((await problemOf(response)).status).toBe(404);
    }
  });
});

describe("Tauri's static latest.json", () => {
  const platforms = async (response: Response) => {
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    const document = (await response.json()) as { version: string; platforms: Record<string, { url: string }> };
    const files = Object.entries(document.platforms).map(([name, { url }]) => [name, url.split("/").at(-1)]);
    return { version: document.version, ...Object.fromEntries(files) };
  };

  test("has every target of the newest version, by system and by bundle type", () =>
    withCatalog(async ({ publish }) => {
      await publish(
        release("windows", "x64", "1.1.0", "app.exe", "app.msi"),
        release("windows", "arm64", "1.1.0", "app-arm64.msi"),
        release("macos", "universal", "1.1.0", "App.app.tar.gz"),
        release("linux", "x64", "1.1.0", "app.deb", "app.AppImage", "app.rpm"),
        release("linux", "arm64", "1.1.0", "app-arm64.deb"),
      );
      expect(await platforms(await check("latest.json"))).toEqual({
        version: "1.1.0",
        "windows-x86_64": "app.exe",
        "windows-x86_64-nsis": "app.exe",
        "windows-x86_64-msi": "app.msi",
        "windows-aarch64": "app-arm64.msi",
        "windows-aarch64-msi": "app-arm64.msi",
        "darwin-x86_64": "App.app.tar.gz",
        "darwin-x86_64-app": "App.app.tar.gz",
        "darwin-aarch64": "App.app.tar.gz",
        "darwin-aarch64-app": "App.app.tar.gz",
        "linux-x86_64": "app.AppImage",
        "linux-x86_64-appimage": "app.AppImage",
        "linux-x86_64-deb": "app.deb",
        "linux-x86_64-rpm": "app.rpm",
        "linux-aarch64-deb": "app-arm64.deb",
      });
      const entry = ((await (await check("latest.json")).json()) as { platforms: Record<string, unknown> }).platforms;
      expect(entry["linux-x86_64-deb"]).toEqual({
        url: `${BASE_URL}${STABLE}/1.1.0/linux-x64/app.deb`,
        signature: MINISIGN,
      });
    }));

  test("leaves out the targets that do not have the newest version: its URL would be another version's", () =>
    withCatalog(async ({ publish }) => {
      await publish(
        release("windows", "x64", "1.2.0", "new.exe"),
        release("macos", "universal", "1.1.0", "App.app.tar.gz"),
      );
      expect(Object.keys(await platforms(await check("latest.json")))).toEqual([
        "version",
        "windows-x86_64",
        "windows-x86_64-nsis",
        "windows-aarch64",
        "windows-aarch64-nsis",
      ]);
    }));

  test("has no unsigned file, and waits for the end of a rollout", () =>
    withCatalog(async ({ publish }) => {
      const unsigned = manifestEntry({ version: "3.0.0" });
      const staged = { ...release("windows", "x64", "2.0.0", "new.exe"), rollout: 99 };
      await publish(unsigned, staged, release("windows", "x64", "1.0.0", "old.exe"));
      expect(await platforms(await check("latest.json"))).toMatchObject({ version: "1.0.0" });
      await publish(unsigned);
      await expectNoRelease(await check("latest.json"), "minisign");
    }));
});
