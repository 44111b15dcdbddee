import Markdown from "markdown-to-jsx/react";
import { Fragment, type ReactNode } from "react";
import { pageContext } from "@/lib/auth/visitor";
import { productName } from "@/lib/platform/brand";
import type { Locale } from "@/lib/platform/locale";
import type { Installer, InstallerFile, InstallerGroup } from "@/lib/releases/installers";
import { CopyButton } from "../components/copy-button";
import { Day } from "../components/time";
import { pageLocale } from "../language/page-language";
import { buildName, PLATFORM_NAMES } from "./platform";
import { DOWNLOAD, type DownloadTexts } from "./texts";

/** A product on one platform and architecture: its newest installer, and a list of its other versions. */
export async function Product({ group, isMain }: { group: InstallerGroup; isMain: boolean }) {
  const { product, architecture, latest, others } = group;
  const locale = await pageLocale();
  const texts = DOWNLOAD[locale];
  const given = productName(pageContext().config, product);
  const name = given ?? product;
  const platform = PLATFORM_NAMES[group.platform];
  return (
    <section className="card" aria-label={texts.productFor(name, platform, architecture)}>
      <div className="heading">
        <h3>
          <span className={given ? undefined : "product"}>{name}</span> {latest?.version}
        </h3>
        <span>
          <span className="tag">{platform}</span> <span className="tag">{architecture}</span>
        </span>
      </div>
      {latest ? (
        <Latest
          installer={latest}
          name={`${name} ${latest.version}`}
          platform={platform}
          build={buildName(group)}
          isMain={isMain}
          locale={locale}
        />
      ) : (
        <p>{texts.noStable}</p>
      )}
      {others.length > 0 && (
        <details>
          <summary>{texts.otherVersions}</summary>
          <OtherVersions installers={others} locale={locale} />
        </details>
      )}
    </section>
  );
}

type LatestProps = {
  installer: Installer;
  name: string;
  platform: string;
  build: string;
  isMain: boolean;
  locale: Locale;
};

function Latest({ installer, name, platform, build, isMain, locale }: LatestProps) {
  const { fileName, href, sizeBytes, sha256, minimumSystemVersion, releasedAt, otherFormats, source } = installer;
  const texts = DOWNLOAD[locale];
  return (
    <>
      <div className="download">
        <a className={isMain ? "button main" : "button quiet"} href={href}>
          {texts.downloadFor(name, build)}
        </a>
        <p>
          {fileName}
          <br />
          <span className="aside">
            {formatSize(sizeBytes, locale)}, <Day at={releasedAt} />
            {minimumSystemVersion && `, ${texts.requires(`${platform} ${minimumSystemVersion}`)}`}
          </span>
        </p>
      </div>
      <Checksum sha256={sha256} />
      {source && pageContext().config.RELEASE_SOURCE_PUBLIC === "on" && (
        <p className="aside">{texts.builtBy(source.repository, source.commit.slice(0, 7))}</p>
      )}
      {otherFormats.length > 0 && <OtherFormats files={otherFormats} locale={locale} />}
      <Notes installer={installer} texts={texts} />
    </>
  );
}

function Notes({ installer: { notes, notesUrl }, texts }: { installer: Installer; texts: DownloadTexts }) {
  if (!notes && !notesUrl) return null;
  return (
    <div className="notes">
      <h4>{texts.notes}</h4>
      <ReleaseNotes markdown={notes} />
      {notesUrl && (
        <p>
          <a href={notesUrl}>{texts.fullNotes}</a>
        </p>
      )}
    </div>
  );
}

function OtherVersions({ installers, locale }: { installers: Installer[]; locale: Locale }) {
  const texts = DOWNLOAD[locale];
  return (
    <ul className="rows">
      {installers.map((installer) => (
        <li key={installer.id} className="row">
          <div className="details">
            <a href={installer.href}>{installer.version}</a>{" "}
            {installer.channel !== "stable" && <span className="tag">{installer.channel}</span>}
            <p>
              <Day at={installer.releasedAt} />, {formatSize(installer.sizeBytes, locale)}
            </p>
            <Checksum sha256={installer.sha256} />
            {installer.otherFormats.length > 0 && (
              <p>
                {texts.otherFormats}:
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
  );
}

function OtherFormats({ files, locale }: { files: InstallerFile[]; locale: Locale }) {
  const texts = DOWNLOAD[locale];
  return (
    <>
      <h4>{texts.otherFormats}</h4>
      <ul className="rows">
        {files.map((file) => (
          <li key={file.href} className="row">
            <div className="details">
              <a href={file.href}>{file.fileName}</a>
              <p>
                {file.type && `${texts.formats[file.type]}, `}
                {formatSize(file.sizeBytes, locale)}
              </p>
              <Checksum sha256={file.sha256} />
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

/** 268435456 is "268 MB". */
export function formatSize(bytes: number, locale: Locale): string {
  const [unit, name] =
    bytes < 1e6 ? ([1e3, "kB"] as const) : bytes < 1e9 ? ([1e6, "MB"] as const) : ([1e9, "GB"] as const);
  return `${new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 }).format(bytes / unit)} ${name}`;
}

/** Renders a release's notes. HTML is shown as text, images as their alt text, and headings follow the page's. */
export function ReleaseNotes({ markdown, heading = "h5" }: { markdown: string; heading?: "h3" | "h5" }) {
  const headings = Object.fromEntries(
    ["h1", "h2", "h3", "h4", "h5", "h6"].map((name) => [name, { component: heading }]),
  );
  const overrides = { ...OVERRIDES, ...headings };
  return (
    <Markdown options={{ disableParsingRawHTML: true, forceBlock: true, wrapper: "div", overrides }}>
      {markdown}
    </Markdown>
  );
}

function Link({ href, children }: { href?: string; children?: ReactNode }) {
  const isWeb = /^https?:\/\//.test(href ?? "");
  return isWeb ? (
    <a href={href} rel="nofollow noopener noreferrer">
      {children}
    </a>
  ) : (
    children
  );
}

function AltText({ alt }: { alt?: string }) {
  return alt ?? null;
}

const OVERRIDES = { a: { component: Link }, img: { component: AltText } };

/** A file's SHA-256 in hexadecimal. With JavaScript, a button copies it. */
export function Checksum({ sha256 }: { sha256: string }) {
  return (
    <p className="checksum">
      SHA-256 <code>{sha256}</code> <CopyButton text={sha256} name="SHA-256" />
    </p>
  );
}
