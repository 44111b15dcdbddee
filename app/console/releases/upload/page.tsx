import { ownerOf } from "@/lib/platform/audit/operator-events";
import { metadataValue } from "@/lib/platform/http/content/tus";
import { catalogFileOf } from "@/lib/releases/catalog/catalog";
import { listVersions } from "@/lib/releases/publishing/list-versions";
import { releaseOperations } from "@/lib/releases/publishing/operations";
import { uploadOperations } from "@/lib/releases/uploads/operations";
import type { Upload } from "@/lib/releases/uploads/uploads";
import { listUploads } from "@/lib/releases/uploads/uploads";
import { Notice } from "../../../(web)/components/notice";
import { Action } from "../../components/action";
import { formatSize } from "../../components/format-numbers";
import { PageHead, Section } from "../../components/headings";
import { EmptyState } from "../../components/states";
import { type Column, List } from "../../components/table";
import { Ago } from "../../components/time";
import { consolePage } from "../../frame/console-page";
import { ReadOnlyNotice } from "../version-state";
import { PublishFields } from "./publish-fields";
import { UploadFiles } from "./upload-files";

export const metadata = { title: "Upload a release" };

const COLUMNS: Column<Upload>[] = [
  { head: "File", isRowHead: true, cell: ({ fileName }) => <bdi className="file-name">{fileName ?? "Unnamed"}</bdi> },
  { head: "Arrived", cell: (upload) => describeProgress(upload) },
  { head: "Kept until", isTight: true, cell: ({ expiresAt }) => <Ago at={expiresAt} /> },
  { head: "Action", cell: (upload) => <Remove upload={upload} /> },
];

export default consolePage(
  { role: "admin", done: { removed: "The upload was deleted." }, ownForms: [releaseOperations.publishReleases] },
  async ({ ctx, operator, flash }) => {
    if (catalogFileOf(ctx.config) === null) {
      return (
        <>
          <PageHead title="Upload a release" parent={{ href: "/console/releases", label: "Releases" }} />
          <ReadOnlyNotice config={ctx.config} />
        </>
      );
    }
    const uploads = await listUploads(ctx, ownerOf(operator));
    const complete = uploads.filter(({ offsetBytes, sizeBytes }) => offsetBytes === sizeBytes);
    const { products } = await listVersions(ctx, {});
    return (
      <>
        <PageHead
          title="Upload a release"
          parent={{ href: "/console/releases", label: "Releases" }}
          lead="Upload the files, then publish them. All platforms become visible at once."
        />
        <List title="1. Upload" caption="Your uploads" columns={COLUMNS} rows={uploads} empty="Nothing is uploaded yet">
          <noscript>
            <Notice>Uploads need JavaScript. Publish with the command line or from your pipeline instead.</Notice>
          </noscript>
          <UploadFiles known={uploads.map(toKnown)} />
        </List>
        <Section title="2. Publish">
          {complete.length === 0 ? (
            <EmptyState title="No upload is complete">The form appears when a file has arrived.</EmptyState>
          ) : (
            <PublishFields uploads={complete} products={products} flash={flash} />
          )}
        </Section>
      </>
    );
  },
);

function toKnown({ id, fileName, sizeBytes, metadata }: Upload) {
  const lastModified = metadataValue(metadata ?? "", "lastModified") ?? "";
  return { id, fileName: fileName ?? "", sizeBytes, lastModified };
}

function describeProgress({ offsetBytes, sizeBytes }: Upload): string {
  if (offsetBytes === sizeBytes) return `Complete, ${formatSize(sizeBytes)}`;
  return `${Math.floor((offsetBytes / sizeBytes) * 100)}% of ${formatSize(sizeBytes)}`;
}

function Remove({ upload: { id, fileName } }: { upload: Upload }) {
  return (
    <Action
      operation={uploadOperations.deleteUpload}
      label="Delete"
      name={fileName ?? "the upload"}
      title={
        <>
          Delete the upload of <bdi>{fileName ?? "a file"}</bdi>?
        </>
      }
      submit="Delete the upload"
      params={{ uploadId: id }}
      isDanger
    >
      <p>Deletes what has arrived. Published releases stay as they are.</p>
    </Action>
  );
}
