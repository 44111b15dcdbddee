import type { Flash } from "@/lib/platform/http/pages/flash";
import { Platform } from "@/lib/releases/platforms";
import { releaseOperations } from "@/lib/releases/publishing/operations";
import { FILE_KINDS } from "@/lib/releases/publishing/publish-form";
import type { Upload } from "@/lib/releases/uploads/uploads";
import { Field } from "../../../(web)/components/field";
import { FieldError, SelectField } from "../../components/fields";
import { formatSize } from "../../components/format-numbers";
import { OperationForm } from "../../components/operation-form";
import { type Guess, guessTargets } from "./guess-target";

type Props = { uploads: readonly Upload[]; products: readonly string[]; flash: Flash | null };

const PLATFORMS = Object.fromEntries(Platform.options.map((one) => [one, one]));

/** The form that publishes complete uploads as the releases of one version. */
export function PublishFields({ uploads, products, flash }: Props) {
  const guesses = guessTargets(uploads.map(({ fileName }) => fileName ?? ""));
  return (
    <OperationForm operation={releaseOperations.publishReleases} confirmTo="publish" flash={flash} className="form">
      <Field
        name="product"
        label="Product"
        defaultValue={products[0] ?? "core"}
        required
        maxLength={64}
        list="products"
      />
      <datalist id="products">
        {products.map((product) => (
          <option key={product} value={product} />
        ))}
      </datalist>
      <Field name="version" label="Version" defaultValue={guesses[0]?.version} required />
      <Field name="channel" label="Channel" defaultValue="stable" required maxLength={64} />
      <Field name="rollout" label="Rollout percentage" type="number" min="0" max="100" step="0.1" defaultValue="100" />
      <FieldError name="files" />
      {uploads.map((upload, i) => (
        <FileFields key={upload.id} upload={upload} guess={guesses[i]} />
      ))}
      <div className="field">
        <label htmlFor="notes">Release notes in Markdown (optional)</label>
        <textarea id="notes" name="notes" rows={6} defaultValue={flash?.values.notes} />
      </div>
      <label className="check">
        <input type="checkbox" name="isNew" value="on" /> This adds a new product, architecture, channel or key
      </label>
      <label className="check">
        <input type="checkbox" name="isPrerelease" value="on" /> This publishes a prerelease on the stable channel
      </label>
      <button type="submit">Publish</button>
    </OperationForm>
  );
}

/** What one upload is. Uploads for the same platform and architecture become one release. */
function FileFields({ upload: { id, fileName, sizeBytes }, guess }: { upload: Upload; guess: Guess | undefined }) {
  return (
    <fieldset className="upload-fields">
      <legend>
        <bdi>{fileName ?? "File"}</bdi>
      </legend>
      <label className="check">
        <input type="checkbox" name={`use.${id}`} value="on" defaultChecked /> Publish ({formatSize(sizeBytes)})
      </label>
      <SelectField name={`platform.${id}`} label="Platform" options={PLATFORMS} defaultValue={guess?.platform} />
      <Field name={`architecture.${id}`} label="Architecture" defaultValue={guess?.architecture} required />
      <SelectField name={`kinds.${id}`} label="Used as" options={FILE_KINDS} defaultValue={guess?.kinds} />
    </fieldset>
  );
}
