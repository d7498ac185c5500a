// A sample API description: a public API that needs no account and stores nothing.

export const SAMPLE_NAME = "sample.yaml";
export const SAMPLE = `openapi: 3.0.3
info:
  title: Notes and people
  version: "1.0"
  description: A sample API (jsonplaceholder.typicode.com). It accepts changes but does not store them.
servers: [{url: "https://jsonplaceholder.typicode.com"}]
paths:
  /users:
    get: {tags: [People], summary: All people, operationId: listUsers, responses: {"200": {description: OK}}}
  /users/{id}:
    get:
      tags: [People]
      summary: One person
      operationId: getUser
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {"200": {description: OK}}
  /posts:
    get:
      tags: [Notes]
      summary: Notes, also those of one person
      operationId: listPosts
      parameters: [{name: userId, in: query, schema: {type: integer}}]
      responses: {"200": {description: OK}}
    post:
      tags: [Notes]
      summary: Write a note
      operationId: createPost
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: "#/components/schemas/Note"}
      responses: {"201": {description: Written}}
  /posts/{id}:
    delete:
      tags: [Notes]
      summary: Delete a note
      operationId: deletePost
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {"200": {description: Deleted}}
components:
  schemas:
    Note:
      type: object
      required: [title, body, userId]
      properties:
        title: {type: string}
        body: {type: string}
        userId: {type: integer}
`;
