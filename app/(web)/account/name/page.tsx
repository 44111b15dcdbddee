import { Field } from "../../components/field";
import { Form } from "../../components/form";
import { type PageProps, readPage } from "../../components/page-props";
import { titleOf } from "../../language/page-language";
import { defineTexts } from "../../language/texts";
import { AccountStep } from "../account-step";
import { requireVisitor } from "../require-visitor";

const TEXTS = defineTexts({
  en: { title: "Edit name", name: "Name", hint: "Leave it empty to remove it.", submit: "Save" },
  de: {
    title: "Name ändern",
    name: "Name",
    hint: "Lassen Sie das Feld leer, um ihn zu entfernen.",
    submit: "Speichern",
  },
});

export const generateMetadata = titleOf(TEXTS);

export default async function Page(props: PageProps) {
  const { user } = await requireVisitor("/account/name");
  const { flash, texts } = await readPage(props, TEXTS);
  return (
    <AccountStep title={texts.title}>
      <Form action="/forms/account/name" flash={flash}>
        <Field
          name="name"
          label={texts.name}
          hint={texts.hint}
          autoComplete="name"
          maxLength={80}
          defaultValue={user.name ?? ""}
        />
        <button type="submit">{texts.submit}</button>
      </Form>
    </AccountStep>
  );
}
