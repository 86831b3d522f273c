"""Reports that people look at: a page of HTML, a picture. They draw what the stories and the plans say."""
