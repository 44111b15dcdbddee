import { zipOf } from "../formats/zip";

/** What a NuGet package says about itself. */
export type PackageFields = { id: string; version: string } & Record<string, string>;

/** A NuGet package as nuget.exe and vpk write it: a compressed zip file with a nuspec and a program. */
export function nupkg(fields: PackageFields, program: Uint8Array): Buffer {
  const metadata = Object.entries(fields).map(([name, value]) => `<${name}>${value}</${name}>`);
  const nuspec = `<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2010/07/nuspec.xsd">
  <metadata>${metadata.join("")}</metadata>
</package>`;
  return zipOf({
    "[Content_Types].xml": Buffer.from("<Types/>"),
    "lib/app/app.exe": program,
    [`${fields.id}.nuspec`]: Buffer.from(nuspec),
  });
}
