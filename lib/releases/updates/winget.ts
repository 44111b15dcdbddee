import { compareBuild } from "semver";
import { yamlString } from "../formats/electron";
import type { UpdateQuery } from "../http-schema";
import { architecturesIn, normalizeArchitecture } from "../platforms";
import { completeFiles } from "../release-files";
import { type Artifact, formatVersion, type Release } from "../schema";
import { selectUpdate, type UpdaterRules } from "./select-update";
import { storedFileUrls } from "./stored-files";
import { missingRelease, toDocument, type UpdateFeed, type UpdateRequest } from "./update-feed";

/** The manifest schema (microsoft/winget-cli, schemas/JSON/manifests). winget 1.12 and later read it. */
const SCHEMA_VERSION = "1.12.0";
const LOCALE = "en-US";
const MAX_NOTES_LENGTH = 10_000;

/** The files of a manifest: a `singleton`, or the three of the multi-file format, which the community repository takes. */
const WINGET_FILES = {
  "winget.yaml": "singleton",
  "winget.version.yaml": "version",
  "winget.installer.yaml": "installer",
  "winget.locale.en-US.yaml": "defaultLocale",
} as const;
type WingetManifestType = (typeof WINGET_FILES)[keyof typeof WINGET_FILES];

/** What the catalog does not know. A missing value is written as a placeholder. */
type WingetPackage = Pick<
  UpdateQuery,
  "packageIdentifier" | "publisher" | "packageName" | "license" | "shortDescription" | "installerType"
>;
type UrlOf = (release: Release, file: Artifact) => string;

const WINGET_ARCHITECTURES = architecturesIn("winget");
/** By file name; an .exe is what `installerType` says. */
const INSTALLER_TYPES: readonly [RegExp, string | null][] = [
  [/\.msix(bundle)?$/i, "msix"],
  [/\.appx(bundle)?$/i, "appx"],
  [/\.msi$/i, "msi"],
  [/\.exe$/i, null],
];

/** Picks the file that winget installs: the installer for people, else another one. */
function selectWingetInstaller(release: Release): Artifact | undefined {
  const { installer } = release.artifacts;
  const files = [...(installer ? [installer] : []), ...completeFiles(release)];
  return WINGET_ARCHITECTURES.has(release.architecture)
    ? files.find(({ fileName }) => INSTALLER_TYPES.some(([pattern]) => pattern.test(fileName)))
    : undefined;
}

type Fields = Record<string, string>;
type Manifest = Record<string, string | Fields[]>;

/** A winget manifest of one version, of whose builds a singleton has the first. A comment names the placeholders. */
function renderWinget(
  type: WingetManifestType,
  releases: readonly [Release, ...Release[]],
  settings: WingetPackage,
  urlOf: UrlOf,
): string {
  const [release] = releases;
  const packageName = { PackageName: settings.packageName ?? release.product };
  const { PackageIdentifier = "", ...described }: Fields = { ...PLACEHOLDERS, ...packageName, ...given(settings) };
  const locale = { PackageLocale: LOCALE, ...described, ...releaseNotes(release) };
  const installers = (builds: readonly Release[]) => builds.flatMap((build) => installer(build, settings, urlOf));
  const body: Record<WingetManifestType, () => Manifest> = {
    singleton: () => ({ ...locale, Installers: installers([release]) }),
    version: () => ({ DefaultLocale: LOCALE }),
    installer: () => ({ Installers: installers(releases) }),
    defaultLocale: () => locale,
  };
  const manifest = {
    PackageIdentifier,
    PackageVersion: formatVersion(release.version),
    ...body[type](),
    ManifestType: type,
    ManifestVersion: SCHEMA_VERSION,
  };
  const placeholders = Object.keys(PLACEHOLDERS).filter((name) => name in manifest && !(name in given(settings)));
  return [
    `# yaml-language-server: $schema=https://aka.ms/winget-manifest.${type}.${SCHEMA_VERSION}.schema.json`,
    ...(placeholders.length > 0 ? [`# Replace the placeholders: ${placeholders.join(", ")}`] : []),
    ...toYaml(manifest),
    "",
  ].join("\n");
}

const PLACEHOLDERS = {
  PackageIdentifier: "YourCompany.YourApp",
  Publisher: "Your company",
  License: "Your license",
  ShortDescription: "Your description",
};

function given({ packageIdentifier, publisher, license, shortDescription }: WingetPackage): Fields {
  return {
    ...(packageIdentifier && { PackageIdentifier: packageIdentifier }),
    ...(publisher && { Publisher: publisher }),
    ...(license && { License: license }),
    ...(shortDescription && { ShortDescription: shortDescription }),
  };
}

function releaseNotes({ notes, notesUrl }: Release): Fields {
  return {
    ...(notes === "" ? {} : { ReleaseNotes: notes.slice(0, MAX_NOTES_LENGTH).toWellFormed() }),
    ...(notesUrl === null ? {} : { ReleaseNotesUrl: notesUrl }),
  };
}

function installer(release: Release, { installerType }: WingetPackage, urlOf: UrlOf): Fields[] {
  const artifact = selectWingetInstaller(release);
  const architecture = WINGET_ARCHITECTURES.get(release.architecture);
  if (!artifact || architecture === undefined) return [];
  const [, type] = INSTALLER_TYPES.find(([pattern]) => pattern.test(artifact.fileName)) ?? [];
  const { minimumSystemVersion: minimum, releasedAt } = release;
  return [
    {
      Architecture: architecture,
      InstallerType: type ?? installerType ?? "nullsoft",
      InstallerUrl: urlOf(release, artifact),
      InstallerSha256: artifact.sha256.toUpperCase(),
      ...(minimum === null ? {} : { MinimumOSVersion: minimum.split(".").slice(0, 4).join(".") }),
      ReleaseDate: releasedAt.toISOString().slice(0, 10),
    },
  ];
}

function toYaml(manifest: Manifest): string[] {
  return Object.entries(manifest).flatMap(([name, value]) => {
    if (typeof value === "string") return [`${name}: ${yamlString(value)}`];
    const items = value.flatMap((item) =>
      Object.entries(item).map(([key, text], i) => `${i === 0 ? "- " : "  "}${key}: ${yamlString(text)}`),
    );
    return [`${name}:`, ...items];
  });
}

const RULES: UpdaterRules = { selectArtifact: selectWingetInstaller, comparesSystemVersion: () => true };
const REQUIREMENTS = "winget needs an .exe, .msi or .msix.";

/** A winget manifest of the newest version that is rolled out to all clients, to be submitted by the operator. */
export const wingetFeed: UpdateFeed = {
  pattern: /^(?<name>winget(\.version|\.installer|\.locale\.en-US)?\.yaml)$/,
  resolve: (request, { name = "" }) => {
    const type = WINGET_FILES[name as keyof typeof WINGET_FILES];
    const [newest, ...others] = newestBuilds({ ...request, clientId: undefined, current: undefined });
    if (!newest) throw missingRelease(REQUIREMENTS);
    const urlOf = storedFileUrls(request.deps.config.baseUrl);
    const text = renderWinget(type, [newest, ...others], request.query, urlOf);
    return toDocument({ text, contentType: "application/yaml; charset=utf-8", isClientSpecific: false });
  },
};

/** The builds of the newest version, of the architecture that `arch` names or of all. */
function newestBuilds(request: UpdateRequest): Release[] {
  const { arch } = request.query;
  const architectures = arch === undefined ? [...WINGET_ARCHITECTURES.keys()] : [normalizeArchitecture(arch)];
  const builds = architectures.flatMap((architecture) => {
    const { release } = selectUpdate(request, { platform: "windows", architecture }, RULES);
    return release?.architecture === architecture ? [release] : []; // winget itself knows what runs on arm64
  });
  const [newest] = builds.toSorted((a, b) => compareBuild(b.version, a.version));
  return newest ? builds.filter(({ version }) => compareBuild(version, newest.version) === 0) : [];
}
