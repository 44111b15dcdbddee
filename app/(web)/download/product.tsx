import { Fragment } from "react";
import type { Installer, InstallerFile, InstallerGroup } from "@/lib/releases/installers";
import type { FileType } from "@/lib/releases/selection/file-types";
import { Day } from "../components/time";
import { ReleaseNotes } from "./release-notes";

/** A product on one platform and architecture: its newest installer, and a list of its other versions. */
export function Product({ group, platform }: { group: InstallerGroup; platform: string }) {
  const { product, architecture, latest, others } = group;
  return (
    <section className="card" aria-label={`${product} for ${platform}, ${architecture}`}>
      <div className="heading">
        <h3>
          <span className="product">{product}</span> {latest?.version}
        </h3>
        <span>
          <span className="tag">{platform}</span> <span className="tag">{architecture}</span>
        </span>
      </div>
      {latest ? (
        <LatestInstaller installer={latest} name={`${product} ${latest.version}`} platform={platform} />
      ) : (
        <p>There is no stable release yet.</p>
      )}
      {others.length > 0 && (
        <details>
          <summary>Other versions</summary>
          <ul className="rows">
            {others.map((installer) => (
              <li key={installer.id} className="row">
                <div className="details">
                  <a href={installer.href}>{installer.version}</a>{" "}
                  {installer.channel !== "stable" && <span className="tag">{installer.channel}</span>}
                  <p>
                    <Day at={installer.releasedAt} />, {formatSize(installer.sizeBytes)}
                  </p>
                  <Checksum of={installer} />
                  {installer.otherFormats.length > 0 && (
                    <p>
                      Other formats:
                      {installer.otherFormats.map((file) => (
                        <Fragment key={file.href}>
                          {" "}
                          <a href={file.href}>{file.fileName}</a>
                        </Fragment>
                      ))}
                    </p>
                  )}
                </div>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function LatestInstaller({ installer, name, platform }: { installer: Installer; name: string; platform: string }) {
  const { fileName, href, notes, notesUrl, sizeBytes, minimumSystemVersion, releasedAt, otherFormats } = installer;
  return (
    <>
      <div className="download">
        <a className="button" href={href} aria-label={`Download ${name} for ${platform}`}>
          Download
        </a>
        <p>
          {fileName}
          <br />
          <span className="aside">
            {formatSize(sizeBytes)}, <Day at={releasedAt} />
            {minimumSystemVersion && `, requires ${platform} ${minimumSystemVersion} or newer`}
          </span>
        </p>
      </div>
      <Checksum of={installer} />
      {otherFormats.length > 0 && <OtherFormats files={otherFormats} />}
      {(notes || notesUrl) && (
        <div className="notes">
          <h4>Release notes</h4>
          <ReleaseNotes markdown={notes} />
          {notesUrl && (
            <p>
              <a href={notesUrl}>Full release notes</a>
            </p>
          )}
        </div>
      )}
    </>
  );
}

const FORMATS: Record<FileType, string> = {
  appimage: "any distribution",
  deb: "Debian and Ubuntu",
  rpm: "Fedora and openSUSE",
  pacman: "Arch Linux",
  tar: "archive",
  exe: "installer",
  msi: "Windows Installer",
  msix: "App Installer",
  dmg: "disk image",
  pkg: "installer package",
  zip: "archive",
};

function OtherFormats({ files }: { files: InstallerFile[] }) {
  return (
    <>
      <h4>Other formats</h4>
      <ul className="rows">
        {files.map((file) => (
          <li key={file.href} className="row">
            <div className="details">
              <a href={file.href}>{file.fileName}</a>
              <p>
                {file.type && `${FORMATS[file.type]}, `}
                {formatSize(file.sizeBytes)}
              </p>
              <Checksum of={file} />
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

function Checksum({ of: { sha256 } }: { of: InstallerFile }) {
  return (
    <p className="checksum">
      SHA-256 <code>{sha256}</code>
    </p>
  );
}

const SIZE = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });

/** 268435456 is "268 MB". */
function formatSize(bytes: number): string {
  const [unit, name] = bytes < 1e6 ? [1e3, "kB"] : bytes < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  return `${SIZE.format(bytes / (unit as number))} ${name}`;
}
