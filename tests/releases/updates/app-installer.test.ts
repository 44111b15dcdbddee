import { XMLParser, XMLValidator } from "fast-xml-parser";
import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";
import { problemOf } from "@/tests/support/releases/feeds";
import { type EntryFields, manifestEntry, remoteArtifact, withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const IDENTITY = { name: "Example.Core", publisher: 'CN="A & B", O=<A>', version: "1.4.0.0", architecture: "x64" };

const packaged = (change: EntryFields = {}, identity: EntryFields = {}, fileName = "core 1.4.0.msix") =>
  manifestEntry({
    version: "1.4.0",
    artifacts: { installer: remoteArtifact({ fileName, packageIdentity: { ...IDENTITY, ...identity } }) },
    ...change,
  });

async function appInstaller(path = "core.appinstaller") {
  const response = await get(`${STABLE}/${path}`);
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    "application/appinstaller; charset=utf-8",
  ]);
  const text = await response.text();
  expect(XMLValidator.validate(text)).toBe(true);
  return new XMLParser({ ignoreAttributes: false, attributeNamePrefix: "", parseTagValue: false }).parse(text)
    .AppInstaller;
}

describe("{product}.appinstaller", () => {
  test("names the package exactly as its manifest does", () =>
    withCatalog(async ({ publish }) => {
      await publish(packaged());
      expect(await appInstaller()).toEqual({
        xmlns: "http://schemas.microsoft.com/appx/appinstaller/2018",
        Version: "1.4.0.0",
        Uri: `${BASE_URL}${STABLE}/core.appinstaller`,
        MainPackage: {
          Name: "Example.Core",
          Publisher: 'CN="A & B", O=<A>',
          Version: "1.4.0.0",
          ProcessorArchitecture: "x64",
          Uri: `${BASE_URL}${STABLE}/1.4.0/windows-x64/core%201.4.0.msix`,
        },
        UpdateSettings: { OnLaunch: { HoursBetweenUpdateChecks: "12" }, AutomaticBackgroundTask: "" },
      });
    }));

  test("names a package of which parts can be requested, one or several at once", () =>
    withCatalog(async ({ publish, addFile }) => {
      const bytes = Buffer.alloc(10_000, "package");
      const installer = await addFile("core.msix", bytes, { fileName: "core.msix", packageIdentity: IDENTITY });
      await publish(packaged({ artifacts: { installer } }));
      const uri: string = (await appInstaller()).MainPackage.Uri;
      const request = (range: string) => get(uri.replace(BASE_URL, ""), { headers: { range } });
      const one = await request("bytes=9000-");
      expect([one.status, one.headers.get("content-range")]).toEqual([206, "bytes 9000-9999/10000"]);
      expect(Buffer.from(await one.arrayBuffer()).equals(bytes.subarray(9000))).toBe(true);
      const several = await request("bytes=0-99,9000-9099");
      expect([several.status, several.headers.get("content-type")]).toEqual([
        206,
        expect.stringMatching(/^multipart\/byteranges; boundary=/),
      ]);
      expect(await several.text()).toContain("Content-Range: bytes 9000-9099/10000");
      expect((await request("bytes=0-9000,9002-9999")).status).toBe(200); // the parts are larger than the package
    }));

  test("has a bundle without an architecture, and a build by arch, under the URL that it was requested at", () =>
    withCatalog(async ({ publish }) => {
      await publish(
        packaged({}, { architecture: null }, "core.msixbundle"),
        packaged({ architecture: "arm64" }, { architecture: "arm64" }, "core-arm64.msix"),
      );
      const bundle = await appInstaller();
      expect(bundle).not.toHaveProperty("MainPackage");
      expect(bundle.MainBundle).not.toHaveProperty("ProcessorArchitecture");
      expect(await appInstaller("Core.AppInstaller?arch=aarch64")).toMatchObject({
        Uri: `${BASE_URL}${STABLE}/core.appinstaller?arch=arm64`,
        MainPackage: { ProcessorArchitecture: "arm64" },
      });
    }));

  test("lets a critical release block the start, and a rollback of a withdrawn version alone go back", () =>
    withCatalog(async ({ publish }) => {
      const settings = async () => (await appInstaller()).UpdateSettings;
      await publish(packaged({ critical: true }));
      expect(await settings()).toEqual({
        OnLaunch: { HoursBetweenUpdateChecks: "0", ShowPrompt: "true", UpdateBlocksActivation: "true" },
        AutomaticBackgroundTask: "",
      });
      await publish(packaged({ rollback: true }));
      expect(await settings()).not.toHaveProperty("ForceUpdateFromAnyVersion");
      await publish(packaged({ rollback: true }), packaged({ version: "1.5.0", yanked: true }));
      expect(await settings()).toHaveProperty("ForceUpdateFromAnyVersion", "true");
    }));

  test("waits for the end of a rollout: Windows sends no client id", () =>
    withCatalog(async ({ publish }) => {
      await publish(packaged({ version: "1.5.0", rollout: 99 }), packaged());
      expect((await appInstaller()).Version).toBe("1.4.0.0");
    }));

  test("is 404 with a reason for a product without MSIX, and for another product's name", () =>
    withCatalog(async ({ publish }) => {
      await publish(manifestEntry(), manifestEntry({ product: "ops" }));
      for (const path of ["core.appinstaller", "core.appinstaller?arch=mips"]) {
        expect(await problemOf(await get(`${STABLE}/${path}`))).toMatchObject({
          status: 404,
          code: "release_not_found",
          detail: expect.stringContaining("msix"),
        });
      }
      await publish(packaged());
      for (const name of ["ops.appinstaller", "..%2Fcore.appinstaller", "x.appinstaller"]) {
        expect((await get(`${STABLE}/${name}`)).status).toBe(404);
      }
    }));

  test("ignores a package whose identity is unknown", () =>
    withCatalog(async ({ publish }) => {
      await publish(manifestEntry({ artifacts: { installer: remoteArtifact({ fileName: "core.msix" }) } }));
      expect((await get(`${STABLE}/core.appinstaller`)).status).toBe(404);
    }));
});
