import { readZipEntry } from "../../../files/zip-entry";
import { releaseFiles } from "../../../releases/release-files";
import { formatVersion, normalizeArchitecture, PackageIdentity, type Release } from "../../../releases/schema";
import { PublishingError } from "../manifest/publishing-error";

const PACKAGE = { pattern: /\.(msix|appx)$/i, manifest: "AppxManifest.xml" };
const BUNDLE = { pattern: /\.(msix|appx)bundle$/i, manifest: "AppxMetadata/AppxBundleManifest.xml" };
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;

const ATTRIBUTE = /\s+([\w:.-]+)\s*=\s*("[^"]*"|'[^']*')/g;
const IDENTITY = /<(?:[\w.-]+:)?Identity((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))+)\s*\/?>/;
const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/**
 * Reads the identity of an MSIX package or bundle from its manifest. Returns undefined for other files, by the name.
 * @throws PublishingError if the file is not what its name says
 */
export async function readPackageIdentity(file: string, fileName: string): Promise<PackageIdentity | undefined> {
  const kind = [PACKAGE, BUNDLE].find(({ pattern }) => pattern.test(fileName));
  if (!kind) return undefined;
  const bytes = await readZipEntry(file, (name) => name === kind.manifest, MAX_MANIFEST_BYTES).catch((error: Error) => {
    throw notPackage(fileName, error.message);
  });
  if (!bytes) throw notPackage(fileName, `It has no ${kind.manifest}`);
  const attributes = identityAttributes(new TextDecoder().decode(bytes));
  const parsed = PackageIdentity.safeParse({
    name: attributes.get("Name"),
    publisher: attributes.get("Publisher"),
    version: attributes.get("Version"),
    architecture: kind === BUNDLE ? null : (attributes.get("ProcessorArchitecture")?.toLowerCase() ?? "neutral"),
  });
  if (parsed.success) return parsed.data;
  throw notPackage(fileName, `The identity in ${kind.manifest} is not valid`);
}

function notPackage(fileName: string, reason: string): PublishingError {
  return new PublishingError(
    `${fileName} is not an MSIX package that App Installer accepts: ${reason.replace(/\.$/, "")}.`,
  );
}

/** The manifest is written by tools: one element without namespaces in its attributes. */
function identityAttributes(manifest: string): Map<string, string> {
  const [, attributes = ""] = IDENTITY.exec(manifest.replace(/<!--[\s\S]*?-->/g, "")) ?? [];
  return new Map(
    [...attributes.matchAll(ATTRIBUTE)].map(([, name = "", quoted = ""]) => [name, unescapeXml(quoted.slice(1, -1))]),
  );
}

function unescapeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (all, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? all;
    const code = Number.parseInt(hex ?? decimal, hex === undefined ? 10 : 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
}

/**
 * Rejects a package of another version or architecture than its release. The fourth number of the package's version may
 * be any, since SemVer has none.
 * @throws PublishingError
 */
export function assertPackageFitsRelease(release: Release): void {
  const { major, minor, patch } = release.version;
  for (const { fileName, packageIdentity } of releaseFiles(release)) {
    if (!packageIdentity) continue;
    const { version, architecture } = packageIdentity;
    if (version.split(".").slice(0, 3).map(Number).join(".") !== `${major}.${minor}.${patch}`) {
      throw new PublishingError(`${fileName} has the version ${version}, not ${formatVersion(release.version)}.`);
    }
    if (architecture === null || architecture === "neutral") continue;
    if (normalizeArchitecture(architecture) === release.architecture) continue;
    throw new PublishingError(`${fileName} is for ${architecture}, not for ${release.architecture}.`);
  }
}
