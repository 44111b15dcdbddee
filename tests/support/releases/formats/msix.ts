import { type ZipOptions, zipOf } from "./zip";

export const IDENTITY = { Name: "Example.Core", Publisher: "CN=Example &amp; Sons, O=Example", Version: "1.4.0.0" };

const attributesOf = (identity: Record<string, string>) =>
  Object.entries(identity)
    .map(([name, value]) => ` ${name}="${value}"`)
    .join("");

/** The manifest of an MSIX package, as makeappx packs it. */
export const appxManifest = (identity: Record<string, string>) => `<?xml version="1.0" encoding="utf-8"?>
<Package xmlns="http://schemas.microsoft.com/appx/manifest/foundation/windows10">
  <!-- <Identity Name="Commented.Out" Publisher="CN=Nobody" Version="9.9.9.9" /> -->
  <Identity${attributesOf(identity)} />
  <Properties><DisplayName>Example</DisplayName></Properties>
</Package>`;

export const msix = (
  identity: Record<string, string> = { ...IDENTITY, ProcessorArchitecture: "x64" },
  options?: ZipOptions,
) => zipOf({ "app.exe": "MZ", "AppxManifest.xml": `\ufeff${appxManifest(identity)}` }, options);

export const msixBundle = (identity: Record<string, string> = IDENTITY) =>
  zipOf({
    "AppxMetadata/AppxBundleManifest.xml": `<Bundle xmlns="http://schemas.microsoft.com/appx/2013/bundle"><Identity${attributesOf(identity)}/></Bundle>`,
  });
