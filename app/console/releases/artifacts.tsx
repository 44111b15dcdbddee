import type { CatalogVersion, ServedRelease } from "@/lib/releases/publishing/list-versions";
import { releaseOperations } from "@/lib/releases/publishing/operations";
import { describePublisher } from "@/lib/releases/publishing/published-by";
import { releaseFiles } from "@/lib/releases/release-files";
import { QuietButton } from "../components/action";
import { Badge } from "../components/cells";
import { formatSize } from "../components/format-numbers";
import { Section } from "../components/headings";
import { OperationForm } from "../components/operation-form";
import { type Column, Table } from "../components/table";
import { targetName } from "./version-state";

type File = ReturnType<typeof filesOf>[number];

const COLUMNS: Column<File>[] = [
  { head: "File", isRowHead: true, cell: ({ fileName }) => <bdi className="file-name">{fileName}</bdi> },
  { head: "Kind", cell: ({ kinds }) => kinds },
  { head: "Size", align: "end", isTight: true, cell: ({ sizeBytes }) => formatSize(sizeBytes) },
  { head: "SHA-256", cell: ({ sha256 }) => <code className="hash">{sha256}</code> },
  { head: "Signature", cell: ({ signatures }) => signatures },
  { head: "Stored", cell: ({ location }) => location },
];

type Props = { version: CatalogVersion; isVerifiable: boolean };

/** The files of a version, by platform and architecture. */
export function Artifacts({ version, isVerifiable }: Props) {
  const { product, channel, releases } = version;
  const verify = isVerifiable && (
    <OperationForm operation={releaseOperations.verifyVersion} params={{ product, channel, version: version.version }}>
      <QuietButton>Verify the files</QuietButton>
    </OperationForm>
  );
  return (
    <Section title="Files" lead="What clients download." actions={verify}>
      {releases.map((release) => (
        <div key={release.id} className="release-target">
          <h3>
            {targetName(release)} {release.yanked && <Badge tone="bad">Yanked</Badge>}
          </h3>
          <p className="muted">
            <code>{release.id}</code>
          </p>
          <Publisher release={release} />
          <Table
            caption={`Files for ${targetName(release)}`}
            columns={COLUMNS}
            rows={filesOf(release)}
            rowKey={({ fileName }) => fileName}
            empty="The release has no files that this service can serve"
          />
        </div>
      ))}
    </Section>
  );
}

/** Who published a release, and what it was built from. */
function Publisher({ release: { publishedBy } }: { release: ServedRelease }) {
  if (!publishedBy) return null;
  const { type, id, source } = publishedBy;
  const isAccount = type === "operator" && id !== null;
  return (
    <p>
      Published by{" "}
      {isAccount ? <a href={`/console/accounts/${id}`}>an operator</a> : <bdi>{describePublisher(publishedBy)}</bdi>}
      {source && (
        <>
          , built from commit <code title={source.commit}>{source.commit.slice(0, 7)}</code> of{" "}
          <bdi>{source.repository}</bdi> (<bdi>{source.ref}</bdi>)
        </>
      )}
      {source?.runUrl && (
        <>
          , <a href={source.runUrl}>in this run</a>
        </>
      )}
    </p>
  );
}

/** One row for each file, even if it is installer and update. */
function filesOf({ artifacts }: Pick<ServedRelease, "artifacts">) {
  const { installer, update, deltas } = artifacts;
  const files = new Map(
    releaseFiles({ artifacts } as unknown as Parameters<typeof releaseFiles>[0]).map((file) => [file.fileName, file]),
  );
  return [...files.values()].map(({ fileName, sizeBytes, sha256, s3Key, url, ...file }) => {
    const delta = deltas.find((one) => one.fileName === fileName);
    const kinds = [installer?.fileName === fileName && "installer", update?.fileName === fileName && "update"];
    const kind = delta ? `delta from ${delta.from}` : kinds.filter(Boolean).join(", ") || "other";
    const signatures = [
      file.minisign && "minisign",
      file.edSignature && "EdDSA",
      file.attestation && "attestation",
      file.blockMap && "block map",
    ].filter(Boolean);
    const location =
      url !== undefined ? new URL(url).host : s3Key !== undefined ? "object storage" : "catalog’s folder";
    return { fileName, sizeBytes, sha256, kinds: kind, signatures: signatures.join(", ") || "none", location };
  });
}
