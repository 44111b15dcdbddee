import { parseUpdateInfo } from "electron-updater/out/providers/Provider.js";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";
import { type EntryFields, manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { expectNoRelease, HOSTILE, problemOf } from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const PACKAGE = new URLSearchParams({
  packageIdentifier: "Example.Core",
  publisher: "Example",
  packageName: "Example Core",
  license: "Proprietary",
  shortDescription: "Does a thing.",
});

const build = (change: EntryFields = {}, fileName = "setup.exe") =>
  manifestEntry({ version: "1.4.0", artifacts: { installer: remoteArtifact({ fileName }) }, ...change });

/** A manifest as electron-updater's YAML parser reads it, and its comments. */
async function manifest(name = "winget.yaml", query: URLSearchParams | string = PACKAGE) {
  const response = await get(`${STABLE}/${name}?${query}`);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/yaml; charset=utf-8"]);
  const text = await response.text();
  const comments = text.split("\n").filter((line) => line.startsWith("#"));
  return { ...parseUpdateInfo(text, name, new URL(BASE_URL)), comments } as Record<string, unknown>;
}

describe("winget.yaml", () => {
  test("is a singleton manifest with all fields that winget's schema 1.12.0 requires", () =>
    withCatalog(async ({ publish }) => {
      const notes = { notes: HOSTILE, notesUrl: "https://example.com/notes" };
      await publish(build({ minimumSystemVersion: "10.0.17763", ...notes }));
      expect(await manifest()).toEqual({
        PackageIdentifier: "Example.Core",
        PackageVersion: "1.4.0",
        PackageLocale: "en-US",
        Publisher: "Example",
        PackageName: "Example Core",
        License: "Proprietary",
        ShortDescription: "Does a thing.",
        ReleaseNotes: HOSTILE.toWellFormed(),
        ReleaseNotesUrl: "https://example.com/notes",
        Installers: [
          {
            Architecture: "x64",
            InstallerType: "nullsoft",
            InstallerUrl: `${BASE_URL}${STABLE}/1.4.0/windows-x64/setup.exe`,
            InstallerSha256: "AB".repeat(32),
            MinimumOSVersion: "10.0.17763",
            ReleaseDate: "2026-11-01",
          },
        ],
        ManifestType: "singleton",
        ManifestVersion: "1.12.0",
        comments: ["# yaml-language-server: $schema=https://aka.ms/winget-manifest.singleton.1.12.0.schema.json"],
      });
    }));

  test("names its placeholders until the operator gives the values", () =>
    withCatalog(async ({ publish }) => {
      await publish(build());
      expect(await manifest("winget.yaml", "license=MIT")).toMatchObject({
        PackageIdentifier: "YourCompany.YourApp",
        PackageName: "core",
        License: "MIT",
        comments: [
          expect.stringContaining("$schema"),
          "# Replace the placeholders: PackageIdentifier, Publisher, ShortDescription",
        ],
      });
    }));

  test("is split into the three files that the community repository takes, with all architectures", () =>
    withCatalog(async ({ publish }) => {
      await publish(build(), build({ architecture: "arm64" }), build({ architecture: "ia32" }));
      const common = { PackageIdentifier: "Example.Core", PackageVersion: "1.4.0", ManifestVersion: "1.12.0" };
      expect(await manifest("winget.version.yaml")).toEqual({
        ...common,
        DefaultLocale: "en-US",
        ManifestType: "version",
        comments: [expect.any(String)],
      });
      const { Installers, ...installer } = await manifest("winget.installer.yaml");
      expect(installer).toEqual({ ...common, ManifestType: "installer", comments: [expect.any(String)] });
      const architectures = (Installers as { Architecture: string }[]).map(({ Architecture }) => Architecture);
      expect(architectures).toEqual(["x64", "arm64", "x86"]);
      const locale = await manifest("winget.locale.en-US.yaml");
      expect(locale).toMatchObject({
        ...common,
        ManifestType: "defaultLocale",
        PackageLocale: "en-US",
        License: "Proprietary",
      });
      expect(locale).not.toHaveProperty("Installers");
    }));

  test.each([
    ["core.msix", "msix"],
    ["core.msi", "msi"],
  ])("knows the installer type of %s", (fileName, type) =>
    withCatalog(async ({ publish }) => {
      await publish(build({}, fileName));
      expect(await manifest("winget.yaml", `${PACKAGE}&installerType=inno`)).toMatchObject({
        Installers: [{ InstallerType: type }],
      });
    }),
  );

  test("has the version that is rolled out to everybody, and the build that arch names", () =>
    withCatalog(async ({ publish }) => {
      await publish(build({ version: "1.5.0", rollout: 50 }), build(), build({ architecture: "arm64" }));
      for (const query of ["", "clientId=1", "current=1.0.0"]) {
        expect(await manifest("winget.yaml", query)).toMatchObject({ PackageVersion: "1.4.0" });
      }
      expect(await manifest("winget.yaml", "arch=arm64&installerType=inno")).toMatchObject({
        Installers: [{ Architecture: "arm64", InstallerType: "inno" }],
      });
    }));

  test.each(["packageIdentifier=Core", "packageIdentifier=a.b%0Ac", "installerType=bat"])(
    "rejects %s",
    async (query) => {
      const answer = await problemOf(await get(`${STABLE}/winget.yaml?${query}`));
      expect(answer).toMatchObject({ status: 400, code: "invalid_query" });
    },
  );

  test("cannot be made to hold other fields by a value", () =>
    withCatalog(async ({ publish }) => {
      await publish(build());
      const publisher = 'x"\nInstallers:\n- InstallerUrl: "https://evil.example';
      const query = new URLSearchParams({ ...Object.fromEntries(PACKAGE), publisher });
      expect(await manifest("winget.yaml", query)).toMatchObject({
        Publisher: publisher,
        Installers: [{ Architecture: "x64" }],
      });
    }));

  test("is 404 for a product without an installer for Windows", () =>
    withCatalog(async ({ publish }) => {
      await publish(build({}, "setup.zip"), build({ platform: "macos", architecture: "universal" }));
      await expectNoRelease(await get(`${STABLE}/winget.yaml`), "winget");
    }));
});

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

  test("has a bundle without an architecture, and a build by arch, under a URL without a query", () =>
    withCatalog(async ({ publish }) => {
      await publish(
        packaged({}, { architecture: null }, "core.msixbundle"),
        packaged({ architecture: "arm64" }, { architecture: "arm64" }, "core-arm64.msix"),
      );
      const bundle = await appInstaller();
      expect(bundle).not.toHaveProperty("MainPackage");
      expect(bundle.MainBundle).not.toHaveProperty("ProcessorArchitecture");
      expect(await appInstaller("Core.AppInstaller?arch=aarch64")).toMatchObject({
        Uri: `${BASE_URL}${STABLE}/arm64/core.appinstaller`,
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
        await expectNoRelease(await get(`${STABLE}/${path}`), "msix");
      }
      await publish(packaged());
      for (const name of ["ops.appinstaller", "..%2Fcore.appinstaller", "x.appinstaller"]) {
        expect((await get(`${STABLE}/${name}`)).status).toBe(404);
      }
    }));
});
