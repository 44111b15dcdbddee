import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";
import { type EntryFields, manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { problemOf } from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const check = (path: string) => get(`${STABLE}/${path}`);

const mac = (version: string, change: EntryFields = {}) =>
  manifestEntry({
    platform: "macos",
    architecture: "universal",
    version,
    artifacts: { update: remoteArtifact({ fileName: "App.zip" }) },
    ...change,
  });

const packageIdentity = { name: "Example.Core", publisher: "CN=Example", version: "1.1.0.0", architecture: "x64" };

describe("update-electron-app", () => {
  test("gets Squirrel.Mac's JSON at darwin-{arch}/{version}, and 204 if it is current", () =>
    withCatalog(async ({ publish }) => {
      await publish(mac("1.1.0", { notes: "New" }), mac("1.0.0"));
      for (const arch of ["arm64", "x64"]) {
        expect(await (await check(`darwin-${arch}/1.0.0`)).json()).toEqual({
          url: `${BASE_URL}${STABLE}/1.1.0/macos-universal/App.zip`,
          name: "1.1.0",
          notes: "New",
          pub_date: "2026-11-01T09:00:00Z",
        });
      }
      for (const current of ["1.1.0", "1.2.0"]) expect((await check(`darwin-arm64/${current}`)).status).toBe(204);
    }));

  test("gets an app's MSIX at win32-{arch}/msix/{version}", () =>
    withCatalog(async ({ publish }) => {
      const update = remoteArtifact({ fileName: "core.msix", packageIdentity });
      await publish(manifestEntry({ version: "1.1.0", artifacts: { installer: remoteArtifact(), update } }));
      expect(await (await check("win32-x64/msix/1.0.0")).json()).toMatchObject({
        url: `${BASE_URL}${STABLE}/1.1.0/windows-x64/core.msix`,
        name: "1.1.0",
      });
      expect((await check("win32-x64/msix/1.1.0")).status).toBe(204);
      await publish(manifestEntry({ version: "1.1.0" }));
      expect(await problemOf(await check("win32-x64/msix/1.0.0"))).toMatchObject({ status: 404 });
    }));

  test("gets Squirrel.Windows' RELEASES and its packages below win32-{arch}/{version}", () =>
    withCatalog(async ({ publish, addFile }) => {
      // electron-winstaller gives the packages of all architectures the same name.
      const build = async (architecture: string) =>
        manifestEntry({
          version: "1.1.0",
          architecture,
          artifacts: {
            update: await addFile(`${architecture}.nupkg`, Buffer.from(`for ${architecture}`), {
              fileName: "Acme-1.1.0-full.nupkg",
              sha1: (architecture === "x64" ? "a" : "b").repeat(40),
            }),
          },
        });
      await publish(await build("x64"), await build("arm64"));
      const feed = async (arch: string) => {
        const response = await check(`win32-${arch}/1.0.0/RELEASES?id=Acme&localVersion=1.0.0&arch=amd64`);
        const [hash, name] = (await response.text()).split(" ");
        return [hash, await (await check(`win32-${arch}/1.0.0/${name}`)).text()];
      };
      expect(await feed("x64")).toEqual(["A".repeat(40), "for x64"]);
      expect(await feed("arm64")).toEqual(["B".repeat(40), "for arm64"]);
    }));

  test.each([
    ["darwin-arm64/latest", 400, "invalid_query"],
    ["darwin-arm64/1.0.0.0.0.0", 400, "invalid_query"],
    ["win32-x64/msix/1.x", 400, "invalid_query"],
    ["linux-x64/1.0.0", 404, "release_not_found"],
    ["win32-x64/1.0.0/nothing.nupkg", 404, "release_not_found"],
    ["win32-x64/1.0.0/a/b/c/d", 404, "release_not_found"],
  ])("is refused %s", async (path, status, code) => {
    expect(await problemOf(await check(path))).toMatchObject({ status, code });
  });
});
