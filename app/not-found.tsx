export const metadata = { title: "Not found" };

export default function NotFound() {
  return (
    <>
      <h1>There is nothing here</h1>
      <p className="lead">The address may have been mistyped, or what it led to is gone.</p>
      <p>
        <a href="/">To the start page</a>
      </p>
    </>
  );
}
