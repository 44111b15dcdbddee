import { Form } from "../parts/form";

/** The title of a page that asks for a session, with the way out of it. */
export function Heading({ title }: { title: string }) {
  return (
    <div className="heading">
      <h1>{title}</h1>
      <Form action="/forms/sign-out">
        <button type="submit" className="quiet">
          Sign out
        </button>
      </Form>
    </div>
  );
}
