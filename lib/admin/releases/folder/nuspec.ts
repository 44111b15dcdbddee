import path from "node:path";
import { z } from "zod";
import { readZipEntry } from "../../../files/zip-entry";
import { PublishingError } from "../manifest/publishing-error";

/** A nuspec has a few kilobytes. */
const MAX_NUSPEC_BYTES = 1024 * 1024;

/** What a package says about itself. Velopack's packages also name their system and channel. */
const Nuspec = z.object({
  id: z.string().min(1),
  version: z.string().min(1),
  releaseNotes: z.string().optional(),
  os: z.string().optional(),
  rid: z.string().optional(),
  machineArchitecture: z.string().optional(),
  channel: z.string().optional(),
});
export type Nuspec = z.infer<typeof Nuspec>;

/**
 * Reads the nuspec in a NuGet package, which is a zip file (Open Packaging Conventions).
 * @throws PublishingError if it is not one, or its name has a different id or version than its nuspec
 */
export async function readNuspec(file: string): Promise<Nuspec> {
  const name = path.basename(file);
  const nuspec = await parseNuspec(file).catch((error: Error) => {
    throw new PublishingError(`${name} is not a NuGet package: ${error.message}`);
  });
  const expected = `${nuspec.id}-${nuspec.version}-`;
  if (name.toLowerCase().startsWith(expected.toLowerCase())) return nuspec;
  throw new PublishingError(`${name} does not match its content: the package is ${nuspec.id} ${nuspec.version}.`);
}

async function parseNuspec(file: string): Promise<Nuspec> {
  const bytes = await readZipEntry(file, (name) => /^[^/]+\.nuspec$/i.test(name), MAX_NUSPEC_BYTES);
  if (!bytes) throw new Error("it has no nuspec");
  const parsed = Nuspec.safeParse(readMetadata(bytes.toString()));
  if (!parsed.success) throw new Error("its nuspec has no id or version");
  return parsed.data;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/** The elements of a nuspec's metadata that contain only text. No XML parser: nothing is resolved or expanded. */
function readMetadata(xml: string): Record<string, string> {
  const escaped = xml
    .replace(/<!--[\s\S]*?-->/g, "")
    .replace(/<!\[CDATA\[([\s\S]*?)\]\]>/g, (_, data: string) => data.replaceAll("&", "&amp;").replaceAll("<", "&lt;"));
  const [, metadata = ""] = /<metadata\b[^>]*>([\s\S]*?)<\/metadata>/.exec(escaped) ?? [];
  const elements = metadata.matchAll(/<([A-Za-z]+)>([^<]*)<\/\1>/g);
  const decode = (value: string) =>
    value.replace(/&(lt|gt|quot|apos|amp);/g, (_, name: string) => ENTITIES[name] ?? "");
  return Object.fromEntries([...elements].map(([, name = "", value = ""]) => [name, decode(value).trim()]));
}
