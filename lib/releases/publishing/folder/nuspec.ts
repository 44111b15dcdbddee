import path from "node:path";
import { z } from "zod";
import { readZipEntry } from "../../../platform/files/zip";
import { unescapeXml } from "../../../platform/unescape-xml";
import { parseXml } from "../files/read-xml";
import { invalidRelease } from "../invalid-release";

/** A nuspec has a few kilobytes. */
const MAX_NUSPEC_BYTES = 1024 * 1024;

/** What a package says about itself. Velopack's packages also name their system and channel. */
const Text = z.string().transform((text) => unescapeXml(text).trim());
const Optional = Text.optional().catch(undefined);
const Nuspec = z.object({
  id: Text.pipe(z.string().min(1)),
  version: Text.pipe(z.string().min(1)),
  releaseNotes: Optional,
  os: Optional,
  rid: Optional,
  machineArchitecture: Optional,
  channel: Optional,
});
export type Nuspec = z.infer<typeof Nuspec>;
const Package = z.object({ package: z.object({ metadata: Nuspec }) });

/** Reads the nuspec in a NuGet package (Open Packaging Conventions). @throws AppError if the package's name differs */
export async function readNuspec(file: string): Promise<Nuspec> {
  const name = path.basename(file);
  const nuspec = await parseNuspec(file).catch((error: Error) => {
    throw invalidRelease(`${name} is not a NuGet package: ${error.message}`);
  });
  // In a nuspec a prerelease has no dots for Squirrel.Windows; electron-builder's version in the name may have them.
  const plain = (text: string) => text.toLowerCase().replace(/(?<=-[a-z-]+)\.(?=\d)/g, "");
  if (plain(name).startsWith(plain(`${nuspec.id}-${nuspec.version}-`))) return nuspec;
  throw invalidRelease(`${name} does not match its content: the package is ${nuspec.id} ${nuspec.version}.`);
}

async function parseNuspec(file: string): Promise<Nuspec> {
  const bytes = await readZipEntry(file, (name) => /^[^/]+\.nuspec$/i.test(name), MAX_NUSPEC_BYTES);
  if (!bytes) throw new Error("it has no nuspec");
  const parsed = Package.safeParse(parseXml(bytes));
  if (!parsed.success) throw new Error("its nuspec has no id or version");
  return parsed.data.package.metadata;
}
